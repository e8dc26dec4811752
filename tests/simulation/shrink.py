"""Makes a failing history smaller: fewer actors and operations first, then fewer decisions of the schedule."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import TypeVar

from tests.simulation.plan import Actor, Op, Plan
from tests.simulation.schedule import Decisions
from tests.simulation.simulate import Outcome, simulate

T = TypeVar("T")

SCHEDULES = 6
"""Seeds tried for the schedule of a smaller plan: with fewer operations the same decisions fall elsewhere."""


def shrink(failed: Outcome, *, most_runs: int = 1500) -> Outcome:
    """Return the smallest history found that breaks the same kind of rule. The engine must be woven as it was."""
    kind = kind_of(failed)
    best = failed
    runs = 0

    def attempt(plan: Plan, decisions: Decisions | None, schedule_seed: int) -> bool:
        nonlocal best, runs
        runs += 1
        outcome = simulate(plan, decisions, schedule_seed=schedule_seed)
        if kind_of(outcome) == kind:
            best = outcome
            return True
        return False

    def still_fails(ops: Sequence[tuple[int, Op]]) -> bool:
        plan = _with_ops(failed.plan, ops)
        return runs < most_runs and any(attempt(plan, None, plan.seed + n) for n in range(SCHEDULES))

    ops = [(number, op) for number, actor in enumerate(failed.plan.actors) for op in actor.ops]
    smaller(ops, still_fails)

    plan = best.plan

    def fails_with(decisions: Sequence[tuple[str, int, int]]) -> bool:
        return runs < 2 * most_runs and attempt(plan, _decisions(decisions), plan.seed)

    taken = best.decisions
    flat = [("p", *item) for item in taken.preemptions.items()] + [("c", *item) for item in taken.choices.items()]
    smaller(sorted(flat, key=lambda item: item[1]), fails_with)
    return best


def kind_of(outcome: Outcome) -> str | None:
    """Return which rule was broken first, without the particulars; ``None`` for none."""
    return outcome.violations[0].partition(": ")[2][:24] if outcome.violations else None


def smaller(items: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> Sequence[T]:
    """Leave out ever smaller runs of items for as long as it still fails; return what is left."""
    step = max(1, len(items) // 2)
    while items:
        at = 0
        while at < len(items):
            fewer = [*items[:at], *items[at + step :]]
            if fails(fewer):
                items = fewer
            else:
                at += step
        if step == 1:
            break
        step //= 2
    return items


def _with_ops(plan: Plan, ops: Sequence[tuple[int, Op]]) -> Plan:
    # Actors without operations stay: operators know readers by their number.
    actors = [
        Actor(actor.name, tuple(op for owner, op in ops if owner == number)) for number, actor in enumerate(plan.actors)
    ]
    return dataclasses.replace(plan, actors=tuple(actors))


def _decisions(flat: Sequence[tuple[str, int, int]]) -> Decisions:
    return Decisions(
        {number: decision for kind, number, decision in flat if kind == "p"},
        {number: decision for kind, number, decision in flat if kind == "c"},
    )
