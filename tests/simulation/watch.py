"""Hints that come at once, late, twice or never, as the plan says."""

from collections.abc import Callable, Collection
from typing import cast

from tests.simulation.plan import Hints
from tests.simulation.world import Task, World

from tailrace.errors import DurableStreamUnavailableError
from tailrace.spi import Changes, Watch

LATEST = 1.0
"""Seconds that a late hint takes."""


class SimulatedWatch(Watch):
    """What one engine hears of a simulated store."""

    def __init__(self, world: World, hints: Hints, siblings: "list[SimulatedWatch]", away: Callable[[], bool]) -> None:
        self._world = world
        self._hints = hints
        self._siblings = siblings
        self._away = away
        self._followed: set[str] = set()
        self._moved: dict[str, None] = {}
        self._anything = False
        self._interrupted = False
        self._broken = False
        self._sleeper: Task | None = None
        self._heard = 0

    @property
    def reliable(self) -> bool:
        return self._hints != "unsure"

    def follow(self, added: Collection[str], dropped: Collection[str]) -> None:
        self._world.point()
        self._check()
        self._followed.difference_update(dropped)
        self._followed.update(added)
        self._world.point()

    def wait(self, timeout: float) -> Changes:
        self._world.point()
        self._check()
        if not self._moved and not self._interrupted and not self._anything:
            self._sleeper = self._world.current
            self._world.block(timeout)
            self._sleeper = None
        self._interrupted = False
        self._check()
        # A tuple: the order of a set of texts differs from process to process.
        changes = Changes(cast("frozenset[str]", tuple(self._moved)), self._anything)
        self._moved, self._anything = {}, False
        self._world.point()
        return changes

    def interrupt(self) -> None:
        self._interrupted = True
        self._wake()

    def close(self) -> None:
        if self in self._siblings:
            self._siblings.remove(self)
        self.interrupt()

    def break_off(self) -> None:
        """Lose the connection for good."""
        self._broken = True
        self.interrupt()

    def moved(self, topics: Collection[str], *, anything: bool = False) -> None:
        """Note that topics moved. Called by the store."""
        heard = [topic for topic in topics if topic in self._followed]
        if not heard and not anything:
            return
        self._heard += 1
        if self._hints in ("unsure", "lost") and self._heard % 3:
            return
        if self._hints == "late" and self._heard % 2:
            self._world.spawn("late hint", lambda: self._later(heard, anything))
        else:
            self._hear(heard, anything)

    def _later(self, topics: Collection[str], anything: bool) -> None:
        self._world.sleep(LATEST * (self._heard % 5) / 5)
        self._hear(topics, anything)
        self._world.sleep(0.01)
        self._hear(topics, anything)

    def _hear(self, topics: Collection[str], anything: bool) -> None:
        self._moved.update(dict.fromkeys(topics))
        self._anything = self._anything or anything
        self._wake()

    def _wake(self) -> None:
        if self._sleeper is not None:
            self._world.wake(self._sleeper)

    def _check(self) -> None:
        if self._broken or self._away():
            raise DurableStreamUnavailableError("the watch broke off")
