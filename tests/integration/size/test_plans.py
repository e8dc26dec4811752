"""Every statement that a store sends finds its rows by an index. Among a million topics: ``test_work.py``."""

from collections.abc import Callable

import pytest
from tests.integration.size.conftest import KINDS
from tests.integration.size.operations import OPERATIONS, Stage
from tests.integration.size.work import Engine

TOPICS = 2000


@pytest.mark.parametrize("kind", KINDS)
def test_no_statement_reads_a_table_from_end_to_end(kind: str, make: Callable[[str], Engine]) -> None:
    with make(kind) as engine:
        engine.load(TOPICS)
        stage = Stage(engine)
        work = {
            name: engine.work(lambda operation=operation: operation.run(stage, 0))  # type: ignore[misc]
            for name, operation in OPERATIONS.items()
        }
        stage.close()
        assert all(each.done for each in work.values())
        assert not {name: each.scans for name, each in work.items() if each.scans}
        # What would have been noticed:
        for statement in (
            "SELECT count(*) FROM {topics} WHERE last_position = 3",
            "DELETE FROM {topics} WHERE largest < 0",
        ):
            assert engine.work(lambda statement=statement: engine.perform(statement)).scans  # type: ignore[misc]
