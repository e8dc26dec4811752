"""Every statement finds its rows by an index, and by which one: on few rows and on very many."""

from collections.abc import Mapping

import pytest
from tests.workflow.explained import Explained, explained, load
from tests.workflow.places import Place

INDEXES: Mapping[str, tuple[str, str, str]] = {
    # What stands in a statement; and its index on SQLite, PostgreSQL and MariaDB.
    "{workflow_streams} WHERE name = ?": (
        "sqlite_autoindex_workflow_streams_1",
        "workflow_streams_by_topic",
        "by_topic",
    ),
    "{workflow_streams} WHERE id = ? {skip_locked}": ("PRIMARY KEY", "workflow_streams_pkey", "PRIMARY"),
    "{workflow_streams} WHERE run = ? ORDER BY stream_name": (
        "sqlite_autoindex_workflow_streams_2",
        "workflow_streams_by_name",
        "by_name",
    ),
    "WHERE reclaim_at <= ?": ("workflow_streams_by_deadline", "workflow_streams_by_deadline", "by_deadline"),
    "WHERE lease_until <= ?": ("workflow_streams_by_lease", "workflow_streams_by_lease", "by_lease"),
    "WHERE prune_at <= ?": ("workflow_runs_by_end", "workflow_runs_by_end", "by_end"),
    "AND run_id = ?": ("sqlite_autoindex_workflow_runs_1", "workflow_runs_by_id", "by_id"),
    "AND idempotency_key IN ??": ("workflow_items_by_key", "workflow_items_by_key", "by_key"),
    "SELECT document FROM {workflow_items}": (
        "sqlite_autoindex_workflow_items_1",
        "workflow_items_pkey",
        "PRIMARY",
    ),
    "DELETE FROM {workflow_items} WHERE stream = ? AND position": (
        "sqlite_autoindex_workflow_items_1",
        "workflow_items_pkey",
        "PRIMARY",
    ),
    "DELETE FROM {workflow_streams} WHERE id = ?": ("PRIMARY KEY", "workflow_streams_pkey", "PRIMARY"),
    "DELETE FROM {workflow_items} WHERE stream = ?": (
        "sqlite_autoindex_workflow_items_1",
        "workflow_items_pkey",
        "PRIMARY",
    ),
}


def check(database: Explained, engine: str) -> None:
    """Fail if a statement did not use what it should have."""
    at = ("sqlite", "postgres", "mariadb").index(engine)
    for fragment, names in INDEXES.items():
        plans = [(statement, plan) for statement, plan in database.plans if fragment in statement]
        assert plans, fragment
        for statement, plan in plans:
            # MariaDB has looked already where one row at most can be, by a unique index, and found none.
            assert names[at] in "\n".join(plan) or "const tables" in plan[0], (statement, plan)
    assert database.scans() == []


def test_every_statement_finds_its_rows_by_an_index(place: Place) -> None:
    # Fewer, and MariaDB rather reads all runs.
    check(explained(place, 2000), place.engine)


def test_what_locks_rows_finds_them_by_an_index_however_few_there_are(place: Place) -> None:
    for streams in (10, 60):
        database = explained(place, streams)
        assert [scan for scan in database.scans() if not scan[0].startswith("SELECT") or "{" in scan[0][-15:]] == []
        place.empty()


@pytest.mark.long
def test_every_statement_finds_its_rows_by_an_index_among_very_many(place: Place) -> None:
    check(explained(place, 100_000), place.engine)


def test_what_uses_no_index_would_be_noticed(place: Place) -> None:
    database = Explained(place.shared.database, place.engine)
    load(database.inner, 200, 10**15)
    database.look(lambda ask: ask("SELECT count(*) FROM {workflow_items} WHERE tag = ?", 3))
    assert len(database.scans()) == 1
