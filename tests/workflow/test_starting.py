"""Starting runs: a run is started once, and a workflow has one that goes on, whoever else starts one at the moment."""

import threading
from collections.abc import Callable, Sequence

from tailrace.errors import DurableStreamError
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.errors import RunExistsError
from tailrace.workflow.model import Run, RunInfo

THREADS, ROUNDS = 6, 8


def at_once(calls: Sequence[Callable[[], RunInfo]]) -> list[RunInfo | DurableStreamError]:
    """Make all calls at the same moment; return what each came to."""
    together = threading.Barrier(len(calls))
    found: list[RunInfo | DurableStreamError] = []

    def one(call: Callable[[], RunInfo]) -> None:
        together.wait(60)
        try:
            found.append(call())
        except DurableStreamError as exc:
            found.append(exc)

    threads = [threading.Thread(target=one, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_of_those_who_start_the_same_run_at_once_one_does_and_the_others_are_told(service: EmbeddedService) -> None:
    for number in range(ROUNDS):
        run = Run("default", "same", f"run-{number}")
        found = at_once([lambda run=run: service.start_run(run)] * THREADS)  # type: ignore[misc]
        assert sorted(type(one).__name__ for one in found) == ["RunExistsError"] * (THREADS - 1) + ["RunInfo"]
        service.end_run(run)


def test_of_those_who_start_runs_of_one_workflow_at_once_one_does(service: EmbeddedService) -> None:
    for number in range(ROUNDS):
        runs = [Run("default", f"workflow-{number}", f"run-{each}") for each in range(THREADS)]
        found = at_once([lambda run=run: service.start_run(run) for run in runs])  # type: ignore[misc]
        (started,) = [one for one in found if isinstance(one, RunInfo)]
        assert all(isinstance(one, RunExistsError) for one in found if one is not started)
        assert service.latest_run("default", f"workflow-{number}") == started
