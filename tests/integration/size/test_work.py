"""What an operation costs does not depend on how much else there is: among a thousand topics and among a million."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pytest
from tests.integration.size.conftest import KINDS
from tests.integration.size.operations import OPERATIONS, Stage
from tests.integration.size.work import FEW, Engine, Work

from tailrace.backends.sql.ground import SLICE
from tailrace.spi import SweepBudget

pytestmark = [pytest.mark.long]

SMALL, LARGE = 1000, 1_000_000
"""Topics; nine tenths of them have twelve records."""

TIMES = 5
AT_MOST = 2 * SweepBudget().chunk_records
"""Rows of a statement that does as much as there is to do: it does it in portions."""


@dataclass
class Compared:
    """What each operation was, a few times over, on a small and on a large store."""

    per_row: int
    small: Mapping[str, Sequence[Work]]
    large: Mapping[str, Sequence[Work]]


@pytest.fixture(scope="module", params=[*KINDS, "pooled"])
def compared(request: pytest.FixtureRequest, make: Callable[[str], Engine]) -> Compared:
    found = []
    for topics in (SMALL, LARGE):
        with make(request.param) as engine:
            engine.load(topics)
            found.append(_measured(engine))
    return Compared(engine.per_row, *found)


def _measured(engine: Engine) -> Mapping[str, Sequence[Work]]:
    stage = Stage(engine)
    found = {}
    for name, operation in OPERATIONS.items():
        # What is done once for each connection, or by whoever comes first, is done by this one.
        operation.run(stage, 0)
        found[name] = [
            engine.work(lambda nth=nth, operation=operation: operation.run(stage, nth))  # type: ignore[misc]
            for nth in range(1, TIMES)
        ]
    stage.close()
    return found


def test_no_statement_reads_a_table_from_end_to_end(compared: Compared) -> None:
    scans = {name: [one for work in each for one in work.scans] for name, each in compared.large.items()}
    assert not {name: some for name, some in scans.items() if some}


def test_as_many_statements_look_at_no_more_rows(compared: Compared) -> None:
    for name, operation in OPERATIONS.items():
        small, large = compared.small[name], compared.large[name]
        most = max(work.most for work in large)
        if operation.goes_on or operation.slices:
            assert most <= (2 * SLICE + FEW if operation.slices else AT_MOST) * compared.per_row, name
        else:
            # Fewer, where a planner reads a small table whole.
            assert max(work.rows for work in large) <= max(work.rows for work in small), name
        if not operation.goes_on:
            assert [len(work.done) for work in large] == [len(work.done) for work in small], name


def test_they_touch_at_most_twice_as_many_pages(compared: Compared) -> None:
    # An index over a thousand topics has two levels, over a million three or four: a search reads a page of each.
    for name, operation in OPERATIONS.items():
        if not (operation.goes_on or operation.slices):
            small, large = (
                statistics.median(work.pages for work in side[name]) for side in (compared.small, compared.large)
            )
            assert large <= 2 * small, f"{name}: {small:g} pages, {large:g} pages"
