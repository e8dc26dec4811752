"""One history, from a plan: build the world, let it run, return what happened."""

import contextlib
import gc
import logging
from collections.abc import Iterator
from dataclasses import dataclass

from tests.simulation.actors import Cast
from tests.simulation.checker import check
from tests.simulation.history import History
from tests.simulation.plan import Plan
from tests.simulation.schedule import Decisions, Drawn, Replayed
from tests.simulation.store import SimulatedStore
from tests.simulation.weaving import inhabited
from tests.simulation.world import World

from tailrace.backends.memory import log as memory_log
from tailrace.client import StreamClient


@dataclass(frozen=True)
class Outcome:
    """What came of one history.

    Attributes:
        violations: Sentences; none when every rule held.
        decisions: What the schedule decided; repeats the history together with the plan.
    """

    plan: Plan
    history: History
    violations: tuple[str, ...]
    decisions: Decisions


def simulate(plan: Plan, decisions: Decisions | None = None, *, schedule_seed: int | None = None) -> Outcome:
    """Run one history. The engine must be woven (see ``weaving``).

    Args:
        decisions: Repeat these instead of drawing new ones.
        schedule_seed: Draw from this instead of the plan's own seed.
    """
    seed = plan.seed if schedule_seed is None else schedule_seed
    drawn = Drawn(seed, plan.mean_gap)
    world = World(drawn if decisions is None else Replayed(decisions))
    history = History(world)
    with inhabited(world), _undisturbed():
        store = SimulatedStore(world, history, plan.store, plan.hints, plan.latencies, local=plan.local)
        random, memory_log._random = memory_log._random, _Identities(store)  # type: ignore[assignment]
        try:
            client = StreamClient(store, options=plan.engine)
            Cast(plan, world, history, store, client).start()
            world.run()
            violations = tuple(check(plan, history))
            world.end()
        finally:
            memory_log._random = random
    return Outcome(plan, history, violations, drawn.decisions() if decisions is None else decisions)


class _Identities:
    def __init__(self, store: SimulatedStore) -> None:
        self._store = store

    def randrange(self, start: int, stop: int) -> int:
        return self._store.new_identity()


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    # Faults by the thousand are no news, and garbage is collected between two histories.
    before, collecting = logging.root.manager.disable, gc.isenabled()
    logging.disable(logging.CRITICAL)
    gc.disable()
    try:
        yield
    finally:
        logging.disable(before)
        if collecting:
            gc.enable()
