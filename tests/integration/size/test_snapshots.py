"""What was removed, and is still there for a snapshot that somebody holds elsewhere, is not walked over each time."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pytest
from tests.integration.size.mariadb import MariadbEngine
from tests.integration.size.postgres import PostgresEngine
from tests.integration.size.work import Engine

from tailrace.backends import mysql, postgres
from tailrace.retention import Retention
from tailrace.spi import Entry

FEW, MANY = 1000, 4000
"""Records: four times as many are to be four times the work, and not sixteen times."""

PAYLOAD = b"x" * 1000
CHUNK = 25


@contextmanager
def _snapshot(engine: PostgresEngine | MariadbEngine) -> Iterator[None]:
    on_postgres = isinstance(engine, PostgresEngine)
    with closing(engine.server.connect("postgres" if on_postgres else "size")) as connection:
        cursor = connection.cursor()
        for statement in (
            ("BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT count(*) FROM tailrace.topics")
            if on_postgres
            else ("START TRANSACTION WITH CONSISTENT SNAPSHOT", "SELECT count(*) FROM tailrace_topics")
        ):
            cursor.execute(statement)
        yield


pytestmark = [pytest.mark.long]


# Trimming on PostgreSQL leaves a version of the topic's row with each step; who looks for it passes all of them.
@pytest.mark.parametrize(("kind", "way"), [("postgres", "delete"), ("mariadb", "delete"), ("mariadb", "trim")])
def test_removing_many_records_is_as_much_more_work_as_they_are_more(
    kind: str, way: str, make: Callable[[str], Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (mysql.maintenance, postgres.maintenance):
        monkeypatch.setattr(module, "CHUNK", CHUNK)
    with make(kind) as engine:
        assert isinstance(engine, PostgresEngine | MariadbEngine)
        store = engine.open()
        for topic, count in (("few", FEW), ("many", MANY)):
            store.append([Entry(topic, [PAYLOAD] * count)], 10.0)

        def remove(topic: str) -> None:
            if way == "delete":
                assert store.delete(topic)
            else:
                assert store.trim(topic, Retention(max_records=0))

        with _snapshot(engine):
            few, many = (engine.work(lambda topic=topic: remove(topic)) for topic in ("few", "many"))  # type: ignore[misc]
        store.close()
    assert many.pages <= 5 * few.pages
    assert many.rows <= 5 * few.rows
