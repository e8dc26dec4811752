"""One timer for the heartbeats of all streams of an event loop: a wheel of moments, each with those who are due then.

A timer for each of ten thousand silent streams, and a task to wake, cost more than what is written.
"""

import asyncio
import logging
from typing import Protocol

logger = logging.getLogger("tailrace.sse")

NOTCHES = 128
"""Moments in the time of a heartbeat: by so much of it one is early at most, and never late."""


class Beating(Protocol):
    """Something that is not to be silent for too long."""

    def beat(self, now: float) -> float:
        """Break the silence if it has lasted; return in how many seconds to ask again. In the loop's time."""


class Pulse:
    """Asks streams in time whether they have been silent. Of one event loop; its timer runs while there is any stream.

    Args:
        heartbeat: Seconds of silence that nobody may pass.

    Attributes:
        heartbeat: The same.
    """

    def __init__(self, heartbeat: float) -> None:
        self.heartbeat = heartbeat
        self._notch = heartbeat / NOTCHES
        self._moment = 0
        self._due: dict[int, dict[Beating, None]] = {}
        self._moments: dict[Beating, int] = {}
        self._timer: asyncio.TimerHandle | None = None

    def enter(self, beating: Beating) -> None:
        """Ask somebody after the time of a heartbeat, and from then on; ``leave`` must follow."""
        now = asyncio.get_running_loop().time()
        if self._timer is None:
            self._moment = self._moment_of(now)
            self._set()
        self._put(beating, now + self.heartbeat)

    def leave(self, beating: Beating) -> None:
        """Ask somebody no more."""
        moment = self._moments.pop(beating)
        due = self._due.get(moment)
        if due is not None:
            due.pop(beating, None)
            if not due:
                del self._due[moment]
        if not self._moments and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _put(self, beating: Beating, at: float) -> None:
        # Not into a moment that is over: nobody would look there.
        moment = max(self._moment_of(at), self._moment + 1)
        self._moments[beating] = moment
        self._due.setdefault(moment, {})[beating] = None

    def _moment_of(self, time: float) -> int:
        return int(time / self._notch)

    def _set(self) -> None:
        self._timer = asyncio.get_running_loop().call_at((self._moment + 1) * self._notch, self._turn)

    def _turn(self) -> None:
        now = asyncio.get_running_loop().time()
        # More than one if the loop was late.
        until = max(self._moment_of(now), self._moment + 1)
        while self._moment < until:
            self._moment += 1
            for beating in self._due.pop(self._moment, ()):
                wait = self.heartbeat
                try:
                    wait = beating.beat(now)
                except Exception:
                    # Its own affair: the others are not to fall silent with it.
                    logger.exception("a heartbeat failed that should not have")
                self._put(beating, now + wait)
        self._set()
