"""Paired runs: the two sides in turn, the ratio pair by pair, the median to quote.

A shared machine drifts by more than any difference worth measuring; within a pair it drifts little.
"""

import gc
import statistics
from collections.abc import Callable
from dataclasses import asdict, dataclass, field


@dataclass
class Result:
    """One line of a report.

    Attributes:
        name: What was measured.
        unit: Of ``ours`` and ``raw``.
        ours: Median of our side.
        raw: Median of the other side; ``None`` for an absolute figure.
        ratio: Median of the ratios, pair by pair; above 1 we are ahead.
        goal: What it should be at least (``ratio``), or at most (``ours`` when there is no raw side).
        pairs: How many runs.
        ratios: All of them, in order.
        notes: Anything else that was seen.
    """

    name: str
    unit: str
    ours: float
    raw: float | None = None
    ratio: float | None = None
    goal: float | None = None
    pairs: int = 0
    ratios: list[float] = field(default_factory=list)
    notes: dict[str, float] = field(default_factory=dict)

    @property
    def met(self) -> bool | None:
        """Whether the goal was reached; ``None`` without one."""
        if self.goal is None:
            return None
        return self.ratio >= self.goal if self.ratio is not None else self.ours <= self.goal

    def as_dict(self) -> dict[str, object]:
        """Return it for JSON."""
        return {**asdict(self), "met": self.met}


def paired(
    name: str, unit: str, ours: Callable[[], float], raw: Callable[[], float], *, pairs: int, goal: float | None = None
) -> Result:
    """Run both sides in turn, one warm-up each; both return a rate in ``unit``, more being better."""
    ours(), raw()
    our_rates: list[float] = []
    raw_rates: list[float] = []
    for turn in range(pairs):
        # Alternate who goes first, or the second side always runs on warmer caches.
        sides = [(ours, our_rates), (raw, raw_rates)]
        for run, rates in sides if turn % 2 else reversed(sides):
            gc.collect()
            rates.append(run())
    ratios = [mine / theirs for mine, theirs in zip(our_rates, raw_rates, strict=True)]
    return Result(
        name=name,
        unit=unit,
        ours=statistics.median(our_rates),
        raw=statistics.median(raw_rates),
        ratio=statistics.median(ratios),
        goal=goal,
        pairs=pairs,
        ratios=ratios,
    )
