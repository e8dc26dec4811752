"""A backlog of expired records is worked off in passes of bounded work. How long each takes: ``bench/retention.py``."""

from collections.abc import Callable

import pytest
from tests.integration.size.conftest import KINDS
from tests.integration.size.work import Engine

from tailrace.options import StoreOptions
from tailrace.retention import Retention
from tailrace.spi import SweepBudget, SweepReport

pytestmark = [pytest.mark.long]

TOPICS, EACH = 2000, 500
PASS = SweepBudget(max_records=100_000)


@pytest.mark.parametrize("kind", KINDS)
def test_a_million_expired_records_go_in_passes_of_short_statements(kind: str, make: Callable[[str], Engine]) -> None:
    removed = passes = 0
    with make(kind) as engine:
        # A tenth is loaded empty.
        engine.load(TOPICS * 10 // 9, EACH)
        store = engine.open(StoreOptions(retention=Retention(max_age=3600)))
        done = False
        while not done:
            reports: list[SweepReport] = []
            work = engine.work(lambda into=reports: into.append(store.sweep(PASS)))  # type: ignore[misc]
            (report,) = reports
            assert report.records <= PASS.max_records
            # What goes is looked at once to find it and once to remove it.
            assert work.most <= 2 * PASS.chunk_records * engine.per_row
            removed, passes, done = removed + report.records, passes + 1, report.done
        assert removed == TOPICS * EACH
        assert passes >= removed // PASS.max_records
        assert not any(info.records for info in store.topics(limit=2 * TOPICS))
        store.close()
