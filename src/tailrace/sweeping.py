"""Sweeping again and again: how long to rest after each round, and a thread that does it.

Any number of processes may sweep one store at once. The rests are there so that a sweep with much to do takes half of
the time at most, and so that many processes that were started together do not sweep together.
"""

import logging
import random
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Generic, Protocol, Self, TypeVar

from tailrace.errors import DurableStreamError

_log = logging.getLogger("tailrace.sweep")


class Report(Protocol):
    """What one round did."""

    @property
    def done(self) -> bool:
        """Whether it left nothing to do."""
        ...


R = TypeVar("R", bound=Report)

SHORTEST_REST = 0.05
"""Seconds between two rounds while there is more to do, at least."""


def rest(every: float, took: float, done: bool) -> float:
    """Return the seconds to rest after a round that took ``took`` seconds and left nothing to do, or did."""
    if not done:
        return min(every, max(SHORTEST_REST, took))
    return every * random.uniform(0.9, 1.1)


def sweep_until(
    stopped: threading.Event,
    sweep: Callable[[], R],
    every: float,
    told: Callable[[R], None],
    over: Callable[[], bool],
) -> None:
    """Sweep now, and again every ``every`` seconds, until ``stopped`` is set. Blocks.

    A store that is away, or a round that fails otherwise, is logged and tried again at its time.

    Args:
        sweep: Does one round.
        told: Called after each round, with what it did.
        over: Asked after a round that failed: whether there is no use in another one.
    """
    while not stopped.is_set():
        began = time.monotonic()
        done = True
        try:
            report = sweep()
        except DurableStreamError as exc:
            if over():
                return
            _log.warning("a sweep failed, and is tried again in about %g s: %s", every, exc)
        else:
            done = report.done
            told(report)
        stopped.wait(rest(every, time.monotonic() - began, done))


class Sweeping(Generic[R]):
    """A thread that sweeps until ``close``; made and started by ``sweep_every`` of whoever has something to sweep.

    It ends with that, too. A forked child does not inherit it.

    Attributes:
        last: What the last round did; ``None`` before it.
        rounds: Rounds that ended without an error.
    """

    def __init__(self, sweep: Callable[[], R], every: float, over: Callable[[], bool]) -> None:
        self.last: R | None = None
        self.rounds = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(
            target=sweep_until, args=(self._stopped, sweep, every, self._note, over), name="tailrace-sweep", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """End it; wait for the round that runs now, which its budget bounds. Idempotent; from any other thread."""
        self._stopped.set()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _note(self, report: R) -> None:
        self.last, self.rounds = report, self.rounds + 1
