"""Who runs next, and when somebody is interrupted: drawn from a seed, or replayed from what was drawn."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

LONGEST_GAP = 2000
"""Points between two looks of the scheduler, at most, so that it notices a loop that never ends."""


@dataclass(frozen=True)
class Decisions:
    """Everything a schedule decided that was not the obvious.

    Attributes:
        preemptions: By number of the point: the index among those who could run, or ``-n`` for a stall of n ms.
        choices: By number of the choice (somebody blocked, who is next?): an index above 0.
    """

    preemptions: Mapping[int, int] = field(default_factory=dict)
    choices: Mapping[int, int] = field(default_factory=dict)


class Schedule(Protocol):
    """What the world asks whenever there is more than one way to go on."""

    def gap(self, point: int) -> int:
        """Return how many points pass, from this one on, until ``preempt`` is asked."""
        ...

    def preempt(self, point: int, others: int) -> int | None:
        """Return who takes over, as an index below ``others``; ``-n`` for n ms of sleep; ``None`` for nobody."""
        ...

    def choose(self, number: int, runnable: int) -> int:
        """Return who runs next, as an index below ``runnable``."""
        ...


class Drawn:
    """Draws decisions from a seed and keeps them.

    Args:
        seed: Same seed, same decisions.
        mean_gap: Points between two preemptions, on average.
    """

    def __init__(self, seed: int, mean_gap: float) -> None:
        self._random = random.Random(seed)
        self._rate = 1.0 / mean_gap
        self.preemptions: dict[int, int] = {}
        self.choices: dict[int, int] = {}

    def gap(self, point: int) -> int:
        return min(int(self._random.expovariate(self._rate)) + 1, LONGEST_GAP)

    def preempt(self, point: int, others: int) -> int | None:
        draw = self._random.random()
        if draw < 0.03:
            decision = -1 - int(draw * 600)
        elif others:
            decision = int(self._random.random() * others)
        else:
            return None
        self.preemptions[point] = decision
        return decision

    def choose(self, number: int, runnable: int) -> int:
        index = int(self._random.random() * runnable)
        if index:
            self.choices[number] = index
        return index

    def decisions(self) -> Decisions:
        """Return what was decided so far."""
        return Decisions(dict(self.preemptions), dict(self.choices))


class Replayed:
    """Repeats decisions; where there is none left, nobody is preempted and the first in line runs."""

    def __init__(self, decisions: Decisions) -> None:
        self._preemptions = decisions.preemptions
        self._choices = decisions.choices
        self._points = sorted(decisions.preemptions)
        self._next = 0

    def gap(self, point: int) -> int:
        while self._next < len(self._points) and self._points[self._next] <= point:
            self._next += 1
        until = self._points[self._next] - point if self._next < len(self._points) else LONGEST_GAP
        return min(until, LONGEST_GAP)

    def preempt(self, point: int, others: int) -> int | None:
        decision = self._preemptions.get(point)
        if decision is None or decision < 0:
            return decision
        return decision % others if others else None

    def choose(self, number: int, runnable: int) -> int:
        return self._choices.get(number, 0) % runnable
