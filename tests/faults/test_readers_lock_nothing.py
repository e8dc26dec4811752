"""Readers take no lock that a writer waits for: told by the servers, which note every wait."""

import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager

import pytest
from tests.faults.crowd import Crowd

import tailrace
from tailrace.testing.servers.mariadb import MariadbServer
from tailrace.testing.servers.postgres import PostgresServer

pytestmark = [pytest.mark.long]

WRITERS, APPENDS, READERS, FED = 200, 50, 1000, 3000

# Each wait for a lock is noted after a millisecond, with who holds it.
_NOTED: Mapping[str, str | int | bool] = {"log_lock_waits": True, "deadlock_timeout": "1ms", "log_connections": True}
_READER = re.compile(r"\[(\d+)\].* connection authorized: .*application_name=readers")
_WAIT = re.compile(r"process (\d+) still waiting for .*\n.*DETAIL:  Process(?:es)? holding the lock: ([\d, ]+)\.")


class OnPostgres:
    """Waits in which a reader takes part."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self.url = f"{server.url()}?application_name=writers"
        self.readers_url = f"{server.url()}?application_name=readers"

    def waits(self) -> int:
        log = self._server.log.read_text(encoding="utf-8", errors="replace")
        readers = set(_READER.findall(log))
        return sum(bool({waiter, *re.split(", *", holders)} & readers) for waiter, holders in _WAIT.findall(log))

    @contextmanager
    def somebody_reads_with_a_lock(self) -> Iterator[None]:
        import psycopg

        with psycopg.connect(self.readers_url) as connection:
            connection.execute("SELECT id FROM tailrace.topics FOR UPDATE")
            yield


class OnMariadb:
    """Waits of anybody: what is counted is not told by whom."""

    def __init__(self, server: MariadbServer) -> None:
        self._server = server
        self.database = server.create_database()
        self.url = self.readers_url = server.url(self.database)

    def waits(self) -> int:
        return int(self._server.execute("SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_waits'")[0][1])

    @contextmanager
    def somebody_reads_with_a_lock(self) -> Iterator[None]:
        with closing(self._server.connect(self.database)) as connection, connection.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("SELECT id FROM tailrace_topics FOR UPDATE")
            yield


@pytest.fixture(params=["postgres", "mysql"])
def place(request: pytest.FixtureRequest) -> Iterator[OnPostgres | OnMariadb]:
    if request.param == "postgres":
        with PostgresServer(settings=_NOTED) as server:
            yield OnPostgres(server)
    else:
        with MariadbServer() as other:
            yield OnMariadb(other)


def test_a_thousand_live_readers_keep_two_hundred_writers_from_nothing(place: OnPostgres | OnMariadb) -> None:
    with tailrace.connect(place.url, create=True, append_timeout=60.0) as streams:
        written = [streams.topic(f"written-{at}") for at in range(WRITERS)]
        read = [f"read-{at}" for at in range(READERS)]
        for topic in written:
            topic.append(b"first")
        with Crowd(place.readers_url, read) as crowd:
            crowd.follow()
            before = place.waits()

            def write(topic: tailrace.Topic) -> None:
                for _ in range(APPENDS):
                    topic.append(b"x")

            threads = [threading.Thread(target=write, args=(topic,)) for topic in written]
            for thread in threads:
                thread.start()
            for number in range(FED):
                streams.topic(read[number % READERS]).append(b"x")
            for thread in threads:
                thread.join()
            # Everything has been read by then, and the readers were live all the time.
            crowd.leave(FED)
            assert place.waits() == before
        for topic in written:
            assert sum(info.records for info in streams.maintenance.topics(prefix=topic.name, limit=1)) == 1 + APPENDS
    # What would have been noticed:
    with (
        tailrace.connect(place.url, append_timeout=1.0) as streams,
        place.somebody_reads_with_a_lock(),
        pytest.raises(tailrace.DurableStreamUnavailableError),
    ):
        streams.topic("written-0").append(b"x")
    assert place.waits() > before
