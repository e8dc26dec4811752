"""The simulation notices deliberate faults in the engine: each within a thousand histories."""

import pytest
from tests.simulation.mutations import MUTATIONS
from tests.simulation.search import first_failure
from tests.simulation.shrink import shrink
from tests.simulation.simulate import simulate
from tests.simulation.weaving import woven

HISTORIES = 1000

QUICK = (
    "what does not fit into the buffer is dropped",
    "close leaves the buffer",
    "a lost reply is told as refused",
    "leadership is not handed on",
    "a pull that was overtaken is accepted",
    "the end comes before what is buffered",
)


@pytest.mark.parametrize("fault", QUICK)
def test_a_fault_is_noticed_soon(fault: str) -> None:
    assert first_failure(range(100), MUTATIONS[fault]) is not None


# A history that broke a rule may leave subscriptions that nobody has closed.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.long
@pytest.mark.parametrize("fault", MUTATIONS)
def test_every_fault_is_noticed_within_a_thousand_histories(fault: str) -> None:
    assert first_failure(range(HISTORIES), MUTATIONS[fault]) is not None


def test_there_are_twenty_faults_and_each_is_about_source_that_exists() -> None:
    assert len(MUTATIONS) >= 20
    for edit in MUTATIONS.values():
        with woven(edit):
            pass


def test_what_was_woven_is_undone() -> None:
    from tailrace.engine.appender import Appender
    from tailrace.engine.hub import Hub

    before = Appender.append.__code__, Hub.join.__code__
    with woven(MUTATIONS["leadership is not handed on"]):
        assert Appender.append.__code__ is not before[0]
    assert (Appender.append.__code__, Hub.join.__code__) == before


def test_a_failing_history_shrinks_and_still_fails() -> None:
    edit = MUTATIONS["an unknown append is sent once more"]
    failed = first_failure(range(100), edit)
    assert failed is not None
    with woven(edit):
        best = shrink(failed, most_runs=200)
        again = simulate(best.plan, best.decisions)
    assert best.plan.operations <= 4 < failed.plan.operations
    assert again.violations
    assert len(best.decisions.preemptions) <= len(failed.decisions.preemptions)
