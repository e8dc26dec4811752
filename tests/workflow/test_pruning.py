"""Runs that retention removes: those whose time has come, and no other."""

from collections.abc import Callable, Sequence

from tests.workflow.databases import Between
from tests.workflow.items import items, payloads
from tests.workflow.places import Place

from tailrace.spi import Ask, Database
from tailrace.spi.relational import Rows, Value
from tailrace.workflow.settings import WorkflowSettings

AT_ONCE = WorkflowSettings(run_retention=0)


class OnceFound(Between):
    """Does something when a pass of retention has found runs, before it removes them."""

    def __init__(self, database: Database, then: Callable[[], object]) -> None:
        super().__init__(database)
        self._then = then

    def asked(self, ask: Ask, statement: str, values: Sequence[Value], rows: Rows) -> None:
        if "prune_at <=" in statement and rows:
            self._then()


def test_a_run_that_begins_anew_under_the_name_of_one_that_is_pruned_stays(place: Place) -> None:
    stream = place.stream()
    place.shared.append(stream, items(["old"]))
    place.shared.end_run(stream.run)

    def begin_anew() -> None:
        assert place.shared.delete_run(stream.run)
        place.shared.append(stream, items(["new"]))

    result = place.service(AT_ONCE, around=lambda database: OnceFound(database, begin_anew)).sweep()

    assert (result.runs, result.failed) == (0, 0)
    assert payloads(place.shared, stream) == ["new"]


def test_a_run_that_has_ended_is_pruned_with_everything_in_it(place: Place) -> None:
    ended, going_on = place.stream(), place.stream()
    for stream in (ended, going_on):
        place.shared.append(stream, items([1, 2]))
    place.shared.end_run(ended.run)

    result = place.service(AT_ONCE).sweep()

    assert (result.runs, result.failed, result.done) == (1, 0, True)
    assert (place.count("workflow_runs"), place.count("workflow_streams"), place.count("workflow_items")) == (1, 1, 2)
    assert payloads(place.shared, going_on) == [1, 2]
