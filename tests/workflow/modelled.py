"""A run as the rules alone know it, beside services at the same instants: what both say is compared."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
)
from tests.workflow.databases import Clock
from tests.workflow.places import Place

from tailrace.spi import Database
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.errors import RunNotFoundError, WorkflowStreamError
from tailrace.workflow.model import Run, StreamRef
from tailrace.workflow.rules import State, Stored
from tailrace.workflow.settings import WorkflowSettings


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


class Beside(RuleBasedStateMachine):
    """One run, and two processes at it."""

    place: Place

    def open(self) -> None:
        """Open both."""
        self.clocks: list[Clock] = []

        def around(database: Database) -> Database:
            self.clocks.append(Clock(database))
            return self.clocks[-1]

        retention = WorkflowSettings(run_retention=50.0)
        self.services: list[EmbeddedService] = [self.place.service(retention, around=around) for _ in range(2)]
        self.run = Run("default", "wf", f"run-{secrets.token_hex(6)}")
        self.streams: dict[str, Modelled] | None = None
        self.ended_at: int | None = None

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
