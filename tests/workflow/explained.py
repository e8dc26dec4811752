"""What databases say about how they find the rows of each statement, in the midst of the work."""

from collections.abc import Sequence

from tests.workflow.databases import Between
from tests.workflow.items import keyed
from tests.workflow.places import TABLES, Place

from tailrace.spi import Ask, Database
from tailrace.spi.relational import Rows, Value
from tailrace.workflow.model import Run, StreamRef
from tailrace.workflow.rules import SECOND
from tailrace.workflow.settings import WorkflowSettings


class Explained(Between):
    """Has each statement explained, where and when it is sent."""

    def __init__(self, database: Database, engine: str) -> None:
        super().__init__(database)
        self.plans: list[tuple[str, list[str]]] = []
        self._engine = engine

    def asked(self, ask: Ask, statement: str, values: Sequence[Value], rows: Rows) -> None:
        self._explain(ask, statement, values)

    def doing(self, ask: Ask, statement: str, values: Sequence[Value]) -> None:
        self._explain(ask, statement, values)

    def _explain(self, ask: Ask, statement: str, values: Sequence[Value]) -> None:
        if "{workflow" in statement:
            explain = "EXPLAIN QUERY PLAN" if self._engine == "sqlite" else "EXPLAIN"
            rows = ask(f"{explain} {statement.strip()}", *values)
            self.plans.append((" ".join(statement.split()), [" | ".join(map(_text, row)) for row in rows]))

    def scans(self) -> list[tuple[str, list[str]]]:
        """Return statements that read a table, or an index, from end to end; those of payloads, of which none are here,
        are not of interest."""
        found = [(statement, plan) for statement, plan in self.plans if any(map(self._is_scan, plan))]
        return [(statement, plan) for statement, plan in found if "{workflow_claims}" not in statement]

    def _is_scan(self, line: str) -> bool:
        if self._engine == "sqlite":
            return "SCAN" in line and "CONSTANT" not in line
        return "Seq Scan" in line if self._engine == "postgres" else "| ALL |" in line or "| index |" in line


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


STREAMS_OF_A_RUN = 5
DUE = 20
"""Streams, and runs, of which the time has come."""
_RUN = ("namespace", "workflow_id", "run_id")


def load(database: Database, streams: int, now: int) -> None:
    """Add streams, five to a run, with an item each.

    In each run one stream has ended, one has a lease, and all runs have ended; of most the time comes later.
    """
    for first in range(0, streams, 1000):
        numbers = range(first, min(streams, first + 1000))

        def work(ask: Ask, numbers: range = numbers) -> tuple[None, list[str]]:
            runs = [number // STREAMS_OF_A_RUN for number in numbers if number % STREAMS_OF_A_RUN == 0]
            columns = {**dict.fromkeys(_RUN, bytes), "registered": int, "started_at": int, "prune_at": int}
            ask.add("workflow_runs", columns, [(b"default", b"many", b"r%d" % n, 0, now, due(n, now)) for n in runs])
            ids = dict(ask("SELECT run_id, id FROM {workflow_runs} WHERE run_id IN ??", [b"r%d" % n for n in runs]))
            ids = {bytes(name): number for name, number in ids.items()}
            refs = [stream_of(number) for number in numbers]
            columns = {"run": int, "stream_name": bytes, "name": bytes, "incarnation": int, "opened_at": int}
            columns |= {"last_position": int, "sealed": int, "expires_at": int, "reclaim_at": int, "lease_until": int}
            rows = []
            for number, ref in zip(numbers, refs, strict=True):
                ended = due(number, now) if number % STREAMS_OF_A_RUN == 0 else None
                lease = due(number, now) if number % STREAMS_OF_A_RUN == 1 else None
                run = ids[ref.run.run_id.encode()]
                sealed = int(ended is not None)
                names = (ref.name.encode(), ref.topic.encode())
                rows.append((run, *names, number + 1, now, 1, sealed, ended, ended, lease))
            ask.add("workflow_streams", columns, rows)
            names = [ref.topic.encode() for ref in refs]
            found = ask("SELECT id FROM {workflow_streams} WHERE name IN ??", names)
            columns = {"stream": int, "position": int, "tag": int, "idempotency_key": bytes, "digest": bytes}
            items = [(row[0], 1, 7, b"key", b"d" * 16, b'{"offset":0, "payload":1}') for row in found]
            ask.add("workflow_items", {**columns, "document": bytes}, items)
            return None, []

        database.change(work, 60.0)


def due(number: int, now: int) -> int:
    """Return the time of one of many."""
    return now - number - 1 if number < DUE else now + 3600 * SECOND + number


def stream_of(number: int) -> StreamRef:
    """Return a stream that was loaded."""
    return Run("default", "many", f"r{number // STREAMS_OF_A_RUN}").stream(f"s{number % STREAMS_OF_A_RUN}")


def explained(place: Place, streams: int) -> Explained:
    """Do what services do all day among so many streams."""
    few = WorkflowSettings(run_retention=SECOND / 1e6)
    service, database = place.behind(lambda between: Explained(between, place.engine), few, append_timeout=60.0)
    (now,) = {row[0] for row in database.inner.look(lambda ask: ask("SELECT {now}"))}
    load(database.inner, streams, now - 10 * SECOND)
    if place.engine == "mariadb":
        # It does so by itself, sooner or later.
        place.execute(*(f"ANALYZE TABLE {{{table}}}" for table in TABLES))
    for number in (2, max(5, streams // 2 // STREAMS_OF_A_RUN * STREAMS_OF_A_RUN) + 3):
        stream = stream_of(number)
        service.append(stream, keyed("key-2", "key-3"), lease_seconds=5)
        service.append(stream.run.stream("new"), keyed("a"))
        service.subscribe(stream)
        service.describe(stream)
        service.list_streams(stream.run)
        service.renew(stream, 5)
        service.place_before(stream, 2)
        with service.topic(stream).subscribe_from_beginning() as subscription:
            subscription.receive(timeout=20)
        service.end(stream)
        service.end_run(stream.run)
    swept = service.sweep()
    assert min(swept.streams, swept.lost_producers) > 0
    assert service.delete_run(stream_of(2).run) or swept.runs > 0
    return database
