"""MariaDB: each statement's plan, with what it came to, is written to the log of slow statements: all of them are."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from types import TracebackType
from typing import Any, Self

from tests.integration.size.work import EACH, SIZE, TAG, Done, Engine, Work

from tailrace import spi
from tailrace.options import StoreOptions, parse_url
from tailrace.testing.servers.mariadb import MariadbServer
from tailrace.testing.servers.waiting import until

_SETTINGS: Mapping[str, str | int | bool] = {
    "slow_query_log": True,
    "slow_query_log_file": "slow.log",
    "long_query_time": 0,
    "log_slow_verbosity": "query_plan,innodb,explain",
    "innodb_buffer_pool_size": "1G",
    "innodb_log_file_size": "512M",
    "innodb_flush_log_at_trx_commit": 0,
    "innodb_adaptive_hash_index": False,
    # Statistics would come in between at any time; plans have to do without.
    "innodb_stats_auto_recalc": False,
}
_AT = "CAST(UNIX_TIMESTAMP() AS SIGNED) * 1000000 - 18000000000 + seq * 1000"
_TOPICS = f"""
INSERT INTO tailrace_topics (id, name, incarnation, horizon_position, horizon_tag, last_position, last_tag, size,
    largest, first_at, last_at, idle_at, changed_at)
SELECT seq, CONCAT('t', LPAD(seq, 7, '0')), seq, IF(seq % 10 = 0, {{each}}, 0), IF(seq % 10 = 0, {{tag}}, 0), {{each}},
    {{tag}}, IF(seq % 10 = 0, 0, {{each}} * {{size}}), {{size}}, IF(seq % 10 = 0, NULL, {_AT}), {_AT},
    IF(seq % 10 = 0, {_AT}, NULL), {_AT}
FROM seq_1_to_{{topics}}
"""
_RECORDS = """
INSERT INTO tailrace_records (topic_id, position, tag, at, size, payload)
SELECT t.id, s.seq, {tag}, t.first_at, {size}, REPEAT('x', {size})
FROM tailrace_topics t FORCE INDEX (PRIMARY) STRAIGHT_JOIN seq_1_to_{each} s
WHERE t.first_at IS NOT NULL AND t.id > {after} AND t.id <= {after} + {portion}
"""
_GRAVES = f"""
INSERT INTO tailrace_graves (name, incarnation, deleted_at)
SELECT CONCAT('g', LPAD(seq, 7, '0')), seq, {_AT} FROM seq_1_to_{{tenth}}
"""
_ENTRY = re.compile(
    r"^# User@Host: .*\n# Thread_id: (\d+) +Schema: (\S*) .*\n"
    r"# Query_time: .* Rows_examined: (\d+)\n((?:#.*\n)*)((?:(?!# User@Host).*\n)*)",
    re.MULTILINE,
)
_PAGES = re.compile(r"Pages_accessed: (\d+)")
_PLAN = re.compile(r"^# explain: \d+\t(.*)$", re.MULTILINE)


class MariadbEngine(Engine):
    """A server of its own.

    Args:
        server: Another one, which tells nothing about its work.
    """

    def __init__(self, server: MariadbServer | None = None) -> None:
        self.server = server or MariadbServer(settings=_SETTINGS)

    def __enter__(self) -> Self:
        self.server.__enter__()
        self.database = self.server.create_database("size")
        self.url = self.server.url(self.database)
        self.open(StoreOptions(create=True)).close()
        self._asking = self.server.connect()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._asking.close()
        self.server.__exit__(kind, exc, trace)

    def open(self, options: StoreOptions | None = None) -> Any:
        # Looks that a watch takes by itself come in between at no known time.
        return spi.open_store(parse_url(self.url), options or StoreOptions())

    def load(self, topics: int, each: int = EACH) -> None:
        self.topics = topics
        values = {"topics": topics, "tenth": topics // 10, "each": each, "tag": TAG, "size": SIZE}
        portion = max(1, 500_000 // each)
        records = [_RECORDS.format(after=after, portion=portion, **values) for after in range(0, topics, portion)]
        with closing(self.server.connect(self.database)) as connection, connection.cursor() as cursor:
            for statement in (_TOPICS.format(**values), *records, _GRAVES.format(**values)):
                cursor.execute(statement)

    def perform(self, statement: str) -> None:
        self.server.execute(statement.format(topics="tailrace_topics"), database=self.database)

    def work(self, operation: Callable[[], object]) -> Work:
        log = self.server.data / "slow.log"
        self._settle()
        begin = log.stat().st_size
        operation()
        self._settle()
        with log.open("rb") as entries:
            entries.seek(begin)
            found = _ENTRY.findall(entries.read().decode(errors="replace"))
        mine = [entry for entry in found if entry[1] == self.database]
        pages = sum(int(number) for entry in mine for number in _PAGES.findall(entry[3]))
        return Work([*_done(mine)], pages)

    def _settle(self) -> None:
        # An entry is written after the answer was sent, and before the connection is idle.
        until(self._settled, "every statement has been logged")

    def _settled(self) -> bool:
        with self._asking.cursor() as cursor:
            return not cursor.execute(
                "SELECT 1 FROM information_schema.processlist WHERE db = %s AND command <> 'Sleep'", [self.database]
            )


def _done(entries: list[tuple[str, ...]]) -> Iterator[Done]:
    for _, _, rows, notes, text in entries:
        statement = "\n".join(line for line in text.splitlines() if not line.startswith("SET timestamp="))
        if "UTC_TIMESTAMP" in statement and "tailrace" not in statement:
            # The server's clock, which is looked at once in a while.
            continue
        scanned = []
        for row in _PLAN.findall(notes):
            kind, table, way, *_ = row.split("\t")
            # What an INSERT goes into is told like what is read. Derived tables are in angle brackets.
            if way in ("ALL", "index") and kind != "INSERT" and not table.startswith("<"):
                scanned.append(table)
        yield Done(statement, scanned, int(rows))
