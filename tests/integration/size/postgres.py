"""PostgreSQL: each statement's plan, with what it came to, is written to the log as it ends (``auto_explain``)."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

import psycopg
from tests.integration.size.work import EACH, SIZE, TAG, Done, Engine, Work

from tailrace import spi
from tailrace.options import StoreOptions, parse_url
from tailrace.testing.servers.postgres import PgBouncer, PostgresServer

OWN = "size"
"""The name by which statements of the store are told from those of the test."""

_SETTINGS: Mapping[str, str | int | bool] = {
    "shared_preload_libraries": "auto_explain,pg_stat_statements",
    "auto_explain.log_min_duration": 0,
    "auto_explain.log_analyze": True,
    "auto_explain.log_timing": False,
    "auto_explain.log_format": "json",
    "pg_stat_statements.track": "top",
    # It would come in between at any time.
    "autovacuum": False,
    "shared_buffers": "512MB",
    "max_wal_size": "8GB",
    "wal_level": "minimal",
    "max_wal_senders": 0,
}
_TOPICS = """
INSERT INTO tailrace.topics (name, incarnation, horizon_position, horizon_tag, last_position, last_tag, size, largest,
    last_at, first_at, idle_since)
SELECT ('t' || lpad(i::text, 7, '0'))::bytea, i, CASE WHEN i % 10 = 0 THEN {each} ELSE 0 END,
    CASE WHEN i % 10 = 0 THEN {tag} ELSE 0 END, {each}, {tag}, CASE WHEN i % 10 = 0 THEN 0 ELSE {each} * {size} END,
    {size}, at, CASE WHEN i % 10 <> 0 THEN at END, CASE WHEN i % 10 = 0 THEN at END
FROM generate_series(1, {topics}) AS i, LATERAL (SELECT now() - interval '5 hours' + i * interval '1 ms' AS at) AS stamp
ORDER BY i
"""
_RECORDS = """
INSERT INTO tailrace.records (topic_id, position, at, tag, payload)
SELECT t.id, position, t.first_at, {tag}, decode(repeat('78', {size}), 'hex')
FROM tailrace.topics t, generate_series(1, {each}) AS position WHERE t.first_at IS NOT NULL ORDER BY t.id, position
"""
_GRAVES = """
INSERT INTO tailrace.graves (name, incarnation, deleted_at)
SELECT ('g' || lpad(i::text, 7, '0'))::bytea, i, now() - interval '5 hours' + i * interval '1 ms'
FROM generate_series(1, {topics} / 10) AS i
"""
_PLAN = re.compile(r"^\S+ \S+ \S+ \[\d+\] (\S+) LOG:  duration: \S+ ms  plan:\n((?:\t.*\n)+)", re.MULTILINE)


class PostgresEngine(Engine):
    """A server of its own.

    Args:
        pooled: Whether the store talks to it through a pooler, where it can set nothing and prepares nothing.
        server: Another one, which tells nothing about its work.
    """

    def __init__(self, *, pooled: bool = False, server: PostgresServer | None = None) -> None:
        self._pooled = pooled
        self._opened = ExitStack()
        self._tells = server is None
        self.server = server or PostgresServer(settings=_SETTINGS)

    def __enter__(self) -> Self:
        self._opened.enter_context(self.server)
        where: PostgresServer | PgBouncer = self.server
        if self._pooled:
            where = self._opened.enter_context(PgBouncer(self.server))
        self.url = f"{where.url()}?application_name={OWN}"
        if self._tells:
            self.server.execute("CREATE EXTENSION pg_stat_statements")
        self.open(StoreOptions(create=True)).close()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.close()

    def open(self, options: StoreOptions | None = None) -> Any:
        return spi.open_store(parse_url(self.url), options or StoreOptions())

    def load(self, topics: int, each: int = EACH) -> None:
        self.topics = topics
        for statement in (_TOPICS, _RECORDS, _GRAVES):
            self.server.execute(statement.format(topics=topics, each=each, tag=TAG, size=SIZE))
        # Only what a look makes of rows that were just loaded, or it would be part of each first operation. No
        # statistics: plans have to do without.
        self.server.execute("VACUUM tailrace.topics, tailrace.records, tailrace.graves")

    def perform(self, statement: str) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statement.format(topics="tailrace.topics").encode())

    def work(self, operation: Callable[[], object]) -> Work:
        begin = self.server.log.stat().st_size
        self.server.execute("SELECT pg_stat_statements_reset()")
        operation()
        pages = self.server.execute(
            "SELECT coalesce(sum(shared_blks_hit + shared_blks_read), 0) FROM pg_stat_statements "
            "WHERE query ~ 'tailrace'"
        )
        with self.server.log.open("rb") as log:
            log.seek(begin)
            return Work([*_done(log.read().decode())], int(pages[0][0]))


def _done(log: str) -> Iterator[Done]:
    for name, plan in _PLAN.findall(log):
        found = json.loads(plan)
        # The server's clock is looked at once in a while.
        if name == OWN and "tailrace" in found["Query Text"]:
            nodes = [*_nodes(found["Plan"])]
            yield Done(
                found["Query Text"],
                [node["Relation Name"] for node in nodes if _whole(node)],
                sum(_rows(node) for node in nodes),
            )


def _nodes(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield node
    for inner in node.get("Plans", ()):
        yield from _nodes(inner)


def _whole(node: Mapping[str, Any]) -> bool:
    kind = node["Node Type"]
    if kind == "Seq Scan":
        return bool(node["Actual Loops"])
    # An index that is read without a condition is read in its order: to the end, unless that is what was asked for.
    return kind in ("Index Scan", "Index Only Scan", "Bitmap Index Scan") and "Index Cond" not in node


def _rows(node: Mapping[str, Any]) -> int:
    if "Relation Name" not in node or node["Node Type"] == "ModifyTable":
        return 0
    removed: Sequence[str] = ("Rows Removed by Filter", "Rows Removed by Index Recheck")
    return int((node["Actual Rows"] + sum(node.get(one, 0) for one in removed)) * node["Actual Loops"])
