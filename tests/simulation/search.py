"""Many histories from many seeds, on every core, until one breaks a rule."""

import gc
import multiprocessing
import os
from collections.abc import Iterable, Iterator, Sequence

from tests.simulation.plan import draw
from tests.simulation.shrink import shrink
from tests.simulation.simulate import Outcome, simulate
from tests.simulation.weaving import Edit, woven

SLICE = 200
"""Seeds that a process works on before it reports."""


def first_failure(seeds: Iterable[int], *edits: Edit) -> Outcome | None:
    """Simulate seeds one after the other; return the first history that broke a rule."""
    with woven(*edits):
        for count, seed in enumerate(seeds):
            outcome = simulate(draw(seed))
            if outcome.violations:
                return outcome
            if count % SLICE == 0:
                gc.collect()
    return None


def search(seed: int, runs: int, processes: int | None = None) -> Iterator[tuple[int, int | None]]:
    """Simulate ``runs`` seeds from ``seed`` on; yield how many were done and which one failed, slice by slice."""
    slices = [range(at, min(at + SLICE, seed + runs)) for at in range(seed, seed + runs, SLICE)]
    count = min(processes or os.cpu_count() or 1, len(slices))
    if count <= 1:
        yield from map(_slice, slices)
        return
    # Spawned: a forked child would share the parent's woven functions and greenlets.
    with multiprocessing.get_context("spawn").Pool(count) as pool:
        yield from pool.imap_unordered(_slice, slices)


def explain(seed: int, *edits: Edit) -> str:
    """Return a failing seed, shrunk, as text: what it does, what happened, which rule was broken."""
    with woven(*edits):
        failed = simulate(draw(seed))
        if not failed.violations:
            return f"seed {seed}: every rule held"
        best = shrink(failed)
    return "\n".join([f"seed {seed} breaks a rule:", *_lines(failed, best)])


def _lines(failed: Outcome, best: Outcome) -> Iterator[str]:
    yield from (f"  {violation}" for violation in failed.violations)
    decided = len(best.decisions.preemptions) + len(best.decisions.choices)
    yield f"shrunk from {failed.plan.operations} operations to {best.plan.operations}, with {decided} decisions:"
    yield str(best.plan)
    yield f"  {best.decisions}"
    yield "what happened:"
    yield from (f"  {call}" for call in best.history.calls)
    yield from (f"  {trouble}" for trouble in best.history.troubles)
    yield from (f"  {violation}" for violation in best.violations)


def _slice(seeds: Sequence[int]) -> tuple[int, int | None]:
    failed = first_failure(seeds)
    return len(seeds), None if failed is None else failed.plan.seed
