"""Whatever is done in whatever order, the service says what the rules say, and stores what it says.

The model runs the same pure rules on a state of its own, at instants that the test sets: what is proven is everything
between the rules and the answer. The rules themselves are checked for what must hold of any stream.
"""

import json

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule, run_state_machine_as_test
from tests.workflow.items import item
from tests.workflow.modelled import Beside, Modelled
from tests.workflow.places import Place

from tailrace.workflow import rules
from tailrace.workflow.errors import StreamNotFoundError
from tailrace.workflow.model import Mark
from tailrace.workflow.rules import Proposed, State

NAMES = ("a", "b")
BATCHES = st.lists(st.tuples(st.none() | st.sampled_from("kKlm"), st.integers(0, 1)), min_size=1, max_size=5)


class Streams(Beside):
    """What may be done, in any order."""

    @initialize(batch=BATCHES)
    def begin(self, batch: list[tuple[str | None, int]]) -> None:
        self.open()
        self.append("a", batch, 10_000, 2, 0)

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
            self.set(name, rules.delivered(state, Mark(page.next_offset - 1, state.last_appended_at or 0)))
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


def run(place: Place, examples: int, steps: int) -> None:
    """Try so many stories of so many steps."""
    machine = type("Streams", (Streams,), {"place": place})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=[*HealthCheck],
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
