"""The engine keeps every rule of the contract in every history, and the same seed is the same history."""

import os
import pkgutil
import time

import pytest
from tests.simulation.plan import draw
from tests.simulation.search import explain, search
from tests.simulation.simulate import Outcome, simulate
from tests.simulation.weaving import LEFT_ALONE, PURE, WOVEN, woven

from tailrace import engine

SECONDS = 5.0
HISTORIES = int(os.environ.get("TAILRACE_HISTORIES", "100000"))
"""Of the long run; one for each seed."""


def test_every_rule_holds_in_five_seconds_of_histories() -> None:
    began = time.monotonic()
    for seed in range(0, 100_000, 100):
        with woven():
            failed = [outcome.plan.seed for n in range(100) if (outcome := simulate(draw(seed + n))).violations]
        assert not failed, explain(failed[0])
        if time.monotonic() - began > SECONDS:
            break


@pytest.mark.long
def test_every_rule_holds_in_a_hundred_thousand_histories() -> None:
    done = 0
    for count, failed in search(1_000_000, HISTORIES):
        assert failed is None, explain(failed)
        done += count
    assert done == HISTORIES


def test_every_module_of_the_engine_is_simulated() -> None:
    modules = {f"tailrace.engine.{module.name}" for module in pkgutil.iter_modules(engine.__path__)}

    assert modules == {name for name in (*WOVEN, *PURE, *LEFT_ALONE) if name.startswith("tailrace.engine.")}


def test_the_same_seed_is_the_same_history() -> None:
    with woven():
        for seed in range(30):
            assert _told(simulate(draw(seed))) == _told(simulate(draw(seed)))


def test_the_decisions_of_a_schedule_repeat_its_history() -> None:
    with woven():
        for seed in range(30):
            drawn = simulate(draw(seed))
            assert _told(simulate(draw(seed), drawn.decisions)) == _told(drawn)


def test_histories_do_what_they_are_made_for() -> None:
    """No rule is kept for want of an occasion."""
    seen: set[str] = set()
    with woven():
        for seed in range(150):
            history = simulate(draw(seed)).history
            for call in history.calls:
                what = "None" if call.result is None else type(call.result).__name__
                seen.add(f"{call.kind}: {what if call.error is None else type(call.error).__name__}")
    assert seen >= {
        "append: None",
        "append: DurableStreamUnavailableError",
        "append: InterruptedHere",
        "append: TopicSealedError",
        "close client: None",
        "close: None",
        "enter: None",
        "enter: CursorUnavailableError",
        "enter: DurableStreamUnavailableError",
        "receive: Closed",
        "receive: CursorUnavailableError",
        "receive: DurableStreamUnavailableError",
        "receive: None",
        "receive: bytes",
        "subscribe from cursor: CursorUnavailableError",
    }


def _told(outcome: Outcome) -> list[str]:
    return [*map(str, outcome.history.calls), *map(str, outcome.history.troubles), *outcome.violations]
