"""S09: a reader that waits is served at once although the connection that hears was ended, or where none can hear.

The records are kept in memory: what is looked at is how the engine gets on with the watch.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence

import pytest
from tests.integration.postgres.heads import Heads

from tailrace import DurableStreamRecord, StreamClient, spi
from tailrace.backends.memory import MemoryStore
from tailrace.backends.postgres.line import connect
from tailrace.backends.postgres.watch import PostgresWatch
from tailrace.testing.servers.postgres import PgBouncer, PostgresServer
from tailrace.testing.servers.waiting import until


class TellingStore(MemoryStore):
    """Keeps records in memory and says so in PostgreSQL."""

    def __init__(self, heads: Heads, url: str) -> None:
        super().__init__()
        self._heads = heads
        self._url = url
        self.watches: list[PostgresWatch] = []

    def append(self, entries: Sequence[spi.Entry], timeout: float) -> Sequence[spi.AppendOutcome]:
        outcomes = super().append(entries, timeout)
        self._heads.move(*(entry.topic for entry in entries))
        return outcomes

    def watch(self) -> spi.Watch:
        heads = self._heads
        watch = PostgresWatch(
            lambda deadline: connect(self._url, deadline), heads.channels, heads.table, "PostgreSQL", 5.0
        )
        self.watches.append(watch)
        return watch


class Waiting:
    """A reader that waits for one record, in a thread, in a client of its own."""

    def __init__(self, store: TellingStore, topic: str) -> None:
        self.client = StreamClient(store)
        self._subscription = self.client.topic(topic).subscribe_from_tail()
        self._topic = topic
        self.record: object = None
        self.received_at = 0.0
        self._thread = threading.Thread(target=self._receive)
        self._thread.start()

    def _receive(self) -> None:
        with self._subscription as subscription:
            self.record = subscription.receive(30)
            self.received_at = time.monotonic()

    def follows(self) -> bool:
        """Whether the store's watch follows for it."""
        return self.client.stats()["live_topics"] == 1 and self.client.stats()["hints_arrive"] is not None

    def join(self) -> None:
        """Wait until it has received something, or given up."""
        self._thread.join()


@pytest.fixture
def scene(heads: Heads) -> Iterator[Callable[[str], tuple[StreamClient, list[Waiting]]]]:
    """Make a writer and, with clients of their own, three readers that wait for what it appends."""
    readers: list[Waiting] = []
    writers: list[StreamClient] = []

    def make(url: str) -> tuple[StreamClient, list[Waiting]]:
        store = TellingStore(heads, url)
        writers.append(StreamClient(store))
        readers.extend(Waiting(store, f"t{number}") for number in range(3))
        # Each watch is opened and has been told what to follow: nothing is left to be done before hints.
        until(lambda: all(reader.follows() for reader in readers), "the readers wait")
        until(lambda: len(store.watches) >= 3 and all(watch._waiting for watch in store.watches), "the watches stand")
        return writers[0], readers

    yield make
    for reader in readers:
        reader.join()
    # Only now: the store is the same for all of them.
    for client in (*writers, *(reader.client for reader in readers)):
        client.close()


def test_s09_what_is_appended_right_after_the_listening_connection_was_ended_is_received_within_a_second(
    server: PostgresServer, heads: Heads, scene: Callable[[str], tuple[StreamClient, list[Waiting]]]
) -> None:
    writer, readers = scene(server.url(heads.database))
    assert all(reader.client.stats()["hints_arrive"] for reader in readers)

    assert heads.terminate_others() == 3
    appended_at = time.monotonic()
    for number in range(3):
        writer.topic(f"t{number}").append(b"x")
    for reader in readers:
        reader.join()
        assert isinstance(reader.record, DurableStreamRecord)
        assert reader.record.payload == b"x"
        assert reader.received_at - appended_at < 1.0


def test_s09_behind_a_pooler_it_is_received_by_asking_and_the_stats_say_so(
    pooler: PgBouncer, heads: Heads, scene: Callable[[str], tuple[StreamClient, list[Waiting]]]
) -> None:
    writer, readers = scene(pooler.url(heads.database))
    assert all(reader.client.stats()["hints_arrive"] is False for reader in readers)

    for number in range(3):
        writer.topic(f"t{number}").append(b"x")
    appended_at = time.monotonic()
    for reader in readers:
        reader.join()
        assert isinstance(reader.record, DurableStreamRecord)
        assert reader.received_at - appended_at < 1.0
