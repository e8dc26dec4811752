"""What happened, as outsiders saw it: calls with their times and results, and the troubles that were made."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.simulation.truth import Truth
from tests.simulation.world import InterruptedHere, World

from tailrace.errors import DurableStreamError


@dataclass(slots=True)
class Call:
    """One call of the public API.

    Attributes:
        began, ended: Place in the order of all events; ``ended`` is 0 while it runs.
        began_at, ended_at: Virtual seconds.
        result: What it returned, unless ``error``.
    """

    actor: str
    kind: str
    topic: str
    args: tuple[Any, ...]
    began: int
    began_at: float
    ended: int = 0
    ended_at: float = 0.0
    result: Any = None
    error: BaseException | None = None

    def __str__(self) -> str:
        what = repr(self.error) if self.error is not None else repr(self.result)
        ended = f"{self.ended_at:.3f}" if self.ended else "never"
        return f"{self.began_at:.3f}..{ended} {self.actor} {self.kind} {self.topic} {self.args} -> {what}"


@dataclass(slots=True)
class Trouble:
    """Something that was made to go wrong: ``appends``, ``reads``, ``watch``, ``interrupt``, ``pump``."""

    kind: str
    began_at: float
    ended_at: float


@dataclass(slots=True)
class Subscribed:
    """Everything about one subscription, in order."""

    actor: str
    topic: str
    how: str
    source: Any
    opened: Call
    entered: Call | None = None
    receives: list[Call] = field(default_factory=list)
    closes: list[Call] = field(default_factory=list)
    held: int = 0
    end: Any = None
    staying: bool = False


@dataclass(slots=True)
class History:
    """The record of one history.

    Attributes:
        settled: The event and time at which everything must have been told to everybody who still waits.
        closing: The call that closed the client.
    """

    world: World
    truth: Truth = field(default_factory=Truth)
    calls: list[Call] = field(default_factory=list)
    subscriptions: list[Subscribed] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)
    settled: tuple[int, float] | None = None
    closing: Call | None = None

    @contextmanager
    def call(self, kind: str, topic: str = "", *args: Any) -> Iterator[Call]:
        """Record a call; errors of the library are its result, and so is an interruption."""
        world = self.world
        call = Call(world.current.name, kind, topic, args, world.tick(), world.now)
        self.calls.append(call)
        try:
            yield call
        except (DurableStreamError, InterruptedHere) as exc:
            call.error = exc.with_traceback(None)
        finally:
            call.ended, call.ended_at = world.tick(), world.now

    def trouble(self, kind: str, seconds: float = 0.0) -> Trouble:
        """Note something that is made to go wrong from now on."""
        trouble = Trouble(kind, self.world.now, self.world.now + seconds)
        self.troubles.append(trouble)
        return trouble
