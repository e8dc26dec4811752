"""A greenlet that ticks, to notice when something blocks the hub's thread instead of waiting in the hub.

A busy machine holds up every thread. Two things say how much of a gap was the machine's: a control that ticks in a
native thread of the same process, and the kernel's own count of how long the hub's thread was ready and not run.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import gevent
from gevent import monkey

EVERY = 0.01


@dataclass(frozen=True)
class Tick:
    """One moment.

    Attributes:
        at: On the monotonic clock.
        used: CPU seconds of this thread so far.
        ready: Seconds so far in which this thread could have run, and another one had the processor.
        during: What was going on.
    """

    at: float
    used: float
    ready: float
    during: str


@dataclass(frozen=True)
class Gap:
    """From one tick of the greenlet to the next, in seconds.

    Attributes:
        whole: Less what the machine took.
        idle: Less the thread's own work as well: so long it was blocked.
    """

    whole: float
    idle: float
    during: str


class Ticker:
    """Two rows of ticks: a greenlet's, and a native thread's beside it."""

    def __init__(self) -> None:
        self.during = ""
        self.running = True
        self._greenlet: list[Tick] = []
        self._thread: list[float] = []

    def tick(self, during: str | None = None) -> None:
        """Note this moment of the hub's thread, and what goes on from now on."""
        if during is not None:
            self.during = during
        self._greenlet.append(Tick(time.monotonic(), time.thread_time(), _ready_seconds(), self.during))

    def tick_beside(self) -> None:
        """Note this moment of the control."""
        self._thread.append(time.monotonic())

    def gaps(self) -> list[Gap]:
        """Return all gaps between the greenlet's ticks."""
        found = []
        for before, after in zip(self._greenlet, self._greenlet[1:], strict=False):
            machine = max(after.ready - before.ready, self._held(before.at, after.at))
            whole = after.at - before.at - machine
            found.append(Gap(whole, whole - (after.used - before.used), before.during))
        return found

    def _held(self, start: float, end: float) -> float:
        rows = zip(self._thread, self._thread[1:], strict=False)
        return max((min(e, end) - max(s, start) - EVERY for s, e in rows if s < end and e > start), default=0.0)


@contextmanager
def ticking() -> Iterator[Ticker]:
    """Tick as long as the block runs."""
    ticker = Ticker()
    sleep, start = monkey.get_original("time", "sleep"), monkey.get_original("_thread", "start_new_thread")

    def beside() -> None:
        while ticker.running:
            ticker.tick_beside()
            sleep(EVERY)

    def among() -> None:
        while True:
            ticker.tick()
            gevent.sleep(EVERY)

    start(beside, ())
    greenlet = gevent.spawn(among)
    gevent.sleep(0)
    try:
        yield ticker
    finally:
        greenlet.kill()
        ticker.tick()
        ticker.running = False
        gevent.sleep(2 * EVERY)


def _ready_seconds() -> float:
    with suppress(OSError):
        return int(Path("/proc/thread-self/schedstat").read_text(encoding="ascii").split()[1]) / 1e9
    return 0.0
