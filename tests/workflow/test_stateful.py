"""Whatever is done in whatever order, the service says what the rules say, and stores what it says.

The model runs the same pure rules on a state of its own, at instants that the test sets: what is proven is everything
between the rules and the answer. The rules themselves are checked for what must hold of any stream.
"""

import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.workflow.databases import Clock
from tests.workflow.items import item
from tests.workflow.places import Place

from tailrace.spi import Database
from tailrace.workflow import rules
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.errors import RunNotFoundError, StreamNotFoundError, WorkflowStreamError
from tailrace.workflow.model import Run, StreamRef
from tailrace.workflow.rules import Proposed, State, Stored
from tailrace.workflow.settings import WorkflowSettings

NAMES = ("a", "b")
BATCHES = st.lists(st.tuples(st.none() | st.sampled_from("kKlm"), st.integers(0, 1)), min_size=1, max_size=5)


@dataclass
class Modelled:
    """A stream of the model."""

    state: State
    items: list[tuple[str | None, int]] = field(default_factory=list)
    reclaimed: bool = False

    @property
    def known(self) -> dict[str, Stored]:
        """Its items by key."""
        found: dict[str, Stored] = {}
        for offset, (key, value) in enumerate(self.items):
            if key is not None:
                found.setdefault(key, Stored(offset, b"%d" % value))
        return found


class Streams(RuleBasedStateMachine):
    """One run with two streams, and two processes at it."""

    place: Place

    @initialize(batch=BATCHES)
    def begin(self, batch: list[tuple[str | None, int]]) -> None:
        clocks: list[Clock] = []

        def around(database: Database) -> Database:
            clocks.append(Clock(database))
            return clocks[-1]

        retention = WorkflowSettings(run_retention=50.0)
        self.services: list[EmbeddedService] = [self.place.service(retention, around=around) for _ in range(2)]
        self.clocks = clocks
        self.run = Run("default", "wf", f"run-{secrets.token_hex(6)}")
        self.streams: dict[str, Modelled] | None = None
        self.ended_at: int | None = None
        self.append("a", batch, 10_000, 2, 0)

    def teardown(self) -> None:
        self.place.empty()

    @property
    def now(self) -> int:
        return self.clocks[0].now

    def ref(self, name: str) -> StreamRef:
        return self.run.stream(name)

    def state(self, name: str) -> State | None:
        if self.streams is None:
            raise RunNotFoundError("")
        return self.streams[name].state if name in self.streams else None

    def both(self, call: Callable[[], Any], model: Callable[[], Any]) -> Any:
        """Ask both, compare refusals, and return both answers; ``None`` if they refuse."""
        expected: Any = None
        refusal: WorkflowStreamError | None = None
        try:
            expected = model()
        except WorkflowStreamError as exc:
            refusal = exc
        if refusal is None:
            return call(), expected
        with pytest.raises(type(refusal)) as caught:
            call()
        if refusal.reason == "stream_full":
            assert caught.value.details == refusal.details
        return None

    @rule(by=st.sampled_from((0, 1, 999_999, 1_000_000, 5_000_000, 100_000_000)))
    def time_passes(self, by: int) -> None:
        for clock in self.clocks:
            clock.now += by

    @rule(
        name=st.sampled_from(NAMES),
        batch=BATCHES,
        cap=st.sampled_from((1, 3, 8, 10_000)),
        lease=st.sampled_from((None, 2)),
        who=st.integers(0, 1),
    )
    def append(self, name: str, batch: list[tuple[str | None, int]], cap: int, lease: int | None, who: int) -> None:
        def model() -> rules.Decision:
            found = (self.streams or {}).get(name)
            proposed = [Proposed(key, b"%d" % value) for key, value in batch]
            known = {} if found is None else found.known
            return rules.append(None if found is None else found.state, proposed, known, cap, self.now, lease)

        answers = self.both(
            lambda: self.services[who].append(
                self.ref(name), [item(value, key) for key, value in batch], max_pending_items=cap, lease_seconds=lease
            ),
            model,
        )
        if answers is None:
            return
        appended, decision = answers
        if self.streams is None:
            self.streams = {}
        found = self.streams.setdefault(name, Modelled(decision.state))
        found.state = decision.state
        found.items += [batch[index] for index in decision.new]
        assert list(appended.offsets) == list(decision.offsets)
        assert (appended.accepted, appended.deduped) == (len(decision.new), len(batch) - len(decision.new))
        self.same(appended.stream, name)

    @rule(name=st.sampled_from(NAMES), count=st.integers(1, 4), who=st.integers(0, 1))
    def append_what_is_new(self, name: str, count: int, who: int) -> None:
        self.append(name, [(None, number % 2) for number in range(count)], 10_000, None, who)

    @rule(name=st.sampled_from(NAMES), who=st.integers(0, 1))
    def deliver_all(self, name: str, who: int) -> None:
        self.deliver(name, 0, 500, who)

    @rule(name=st.sampled_from(NAMES))
    def outlive(self, name: str) -> None:
        """Close a stream, and let it expire."""
        self.end(name, None, 1, 0)
        self.time_passes_up_to_the_end(name, 0)
        self.sweep(0)

    @precondition(lambda self: len(self.streams or ()) == 2)
    @rule(
        name=st.sampled_from(NAMES),
        reason=st.sampled_from((None, "broke")),
        retention=st.sampled_from((None, 1, 5)),
        who=st.integers(0, 1),
    )
    def end(self, name: str, reason: str | None, retention: int | None, who: int) -> None:
        answers = self.both(
            lambda: self.services[who].end(self.ref(name), error_reason=reason, retention_seconds=retention),
            lambda: rules.end(self.state(name), reason, retention, self.now),
        )
        if answers is not None:
            self.set(name, answers[1])
            self.same(answers[0], name)

    @rule(name=st.sampled_from(NAMES), early=st.integers(0, 1))
    def time_passes_up_to_the_end(self, name: str, early: int) -> None:
        found = (self.streams or {}).get(name)
        instants = [] if found is None else [found.state.lease_until, found.state.expires_at]
        for instant in instants:
            if instant is not None and instant - early > self.now:
                for clock in self.clocks:
                    clock.now = instant - early

    @precondition(lambda self: self.streams is not None)
    @rule(name=st.sampled_from(NAMES), who=st.integers(0, 1))
    def renew(self, name: str, who: int) -> None:
        answers = self.both(
            lambda: self.services[who].renew(self.ref(name), 2), lambda: rules.renewed(self.state(name), 2, self.now)
        )
        if answers is not None:
            self.set(name, answers[1])
            self.same(answers[0], name)

    @rule(name=st.sampled_from(NAMES), at=st.integers(0, 12), most=st.integers(1, 8), who=st.integers(0, 1))
    def deliver(self, name: str, at: int, most: int, who: int) -> None:
        def model() -> State:
            state = self.state(name)
            if state is None or not state.found_at(self.now):
                raise StreamNotFoundError("")
            return state

        service = self.services[who]
        answers = self.both(lambda: service.subscribe(self.ref(name), from_offset=at, max_items=most), model)
        if answers is None:
            return
        page, state = answers
        expected = self.streams[name].items[at : at + most]  # type: ignore[index]
        found = [json.loads(document) for document in page.documents]
        assert [(document["idempotency_key"], document["payload"]) for document in found] == expected
        assert [document["offset"] for document in found] == list(range(at, at + len(found)))
        assert page.next_offset == at + len(found)
        assert page.terminal == rules.terminal(state, page.next_offset)
        if found:
            self.set(name, rules.delivered(state, page.next_offset - 1))
            # In the store, so that the other process knows.
            waiting = service._deliveries.waiting()
            if waiting:
                service._note_deliveries(waiting)
        self.same(page.stream, name)

    @precondition(lambda self: self.streams is not None)
    @rule()
    def end_run(self) -> None:
        self.services[0].end_run(self.run)
        self.ended_at = self.now if self.ended_at is None else self.ended_at

    @precondition(lambda self: sum(len(found.items) for found in (self.streams or {}).values()) > 6)
    @rule()
    def delete_run(self) -> None:
        assert self.services[0].delete_run(self.run) is (self.streams is not None)
        self.streams = self.ended_at = None

    @rule(who=st.integers(0, 1))
    def sweep(self, who: int) -> None:
        swept = self.services[who].sweep()
        lost = items = streams = runs = 0
        for found in (self.streams or {}).values():
            after = rules.lapsed(found.state, self.now)
            lost += after is not found.state
            found.state = after
            if not after.found_at(self.now) and not found.reclaimed:
                found.reclaimed = True
                streams, items = streams + 1, items + len(found.items)
        if self.ended_at is not None and self.ended_at + 50_000_000 <= self.now:
            runs = 1
            self.streams = self.ended_at = None
        assert (swept.lost_producers, swept.streams, swept.items) == (lost, streams, items)
        assert (swept.runs, swept.failed, swept.done) == (runs, 0, True)

    @invariant()
    def all_see_the_same(self) -> None:
        if not hasattr(self, "run"):
            return
        for service in self.services:
            listed = self.both(lambda service=service: service.list_streams(self.run), self.listed)  # type: ignore[misc]
            if listed is not None:
                assert [stream.stream_name for stream in listed[0]] == listed[1]
                for stream in listed[0]:
                    self.same(stream, stream.stream_name)

    def listed(self) -> list[str]:
        if self.streams is None:
            raise RunNotFoundError("")
        return sorted(name for name, found in self.streams.items() if found.state.found_at(self.now))

    def set(self, name: str, state: State) -> None:
        assert self.streams is not None
        self.streams[name].state = state

    def same(self, stream: Any, name: str) -> None:
        """Compare a stream with the model's, and that with what must hold."""
        state = self.state(name)
        assert state is not None
        for what in ("last_offset", "total_items", "pending_items", "opened_at", "last_appended_at", "closed_at"):
            assert getattr(stream, what) == getattr(state, what), what
        assert (stream.status, stream.error_reason) == (state.status, state.error_reason)
        assert stream.retention_seconds == state.retention_seconds
        assert 0 <= stream.pending_items <= stream.total_items == stream.last_offset + 1
        assert stream.total_items == len(self.streams[name].items)  # type: ignore[index]


def run(place: Place, examples: int, steps: int) -> None:
    """Try so many stories of so many steps."""
    machine = type("Streams", (Streams,), {"place": place})
    quiet = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=quiet,
            database=None,
            derandomize=True,
        ),
    )


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_the_service_says_what_the_rules_say(place: Place) -> None:
    run(place, 40, 25)


@pytest.mark.long
def test_the_service_says_what_the_rules_say_in_many_stories(place: Place) -> None:
    run(place, 80, 40)
