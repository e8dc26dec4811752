"""Eight producers with keys, who ask until they are answered, while what serves them is killed again and again.

No offset is missing or twice there, each key is stored once, whoever was answered was told its place, and the stream's
counts are those of its items.
"""

import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.faults.running import running
from tests.workflow.items import documents, item
from tests.workflow.keepers import Keeper
from tests.workflow.places import Place

from tailrace import spi
from tailrace.options import StoreOptions, parse_url
from tailrace.testing.reading import Background
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.model import Run, StreamRef

PRODUCERS = 8
PATIENCE = 120.0
BATCHES = 50
"""Of each producer in one round, at most: nobody reads, and ten rounds have to find room."""


class Producer:
    """Appends batches of one, two and three items until it is told to stop."""

    def __init__(self, keeper: Keeper, stream: StreamRef, name: str, stop: threading.Event) -> None:
        self.told: dict[str, int] = {}
        self.left = BATCHES
        self.progressed = threading.Event()
        self.line = keeper.line()
        self._stream, self._name, self._stop = stream, name, stop

    def next_round(self) -> None:
        """Let it go on, and tell when it has."""
        self.progressed.clear()
        self.left = BATCHES

    def run(self) -> None:
        """Do so."""
        sent = 0
        while not self._stop.is_set():
            if self.left <= 0:
                self._stop.wait(0.01)
                continue
            self.left -= 1
            keys = [f"{self._name}-{sent + number}" for number in range(sent % 3 + 1)]
            sent += len(keys)
            appended = self.line.append(self._stream, [item(key, key) for key in keys])
            self.told |= dict(zip(keys, appended.offsets, strict=True))
            self.progressed.set()


def suffered(
    keeper: Keeper, stream: StreamRef, rounds: int, kill: Callable[[], None], start: Callable[[], None]
) -> list[Producer]:
    """Let them append while what serves them is killed in the midst of it; return them when they have stopped."""
    stop = threading.Event()
    producers = [Producer(keeper, stream, str(number), stop) for number in range(PRODUCERS)]
    working = [Background(producer.run) for producer in producers]
    for _ in range(rounds):
        for producer in producers:
            producer.next_round()
        assert all(producer.progressed.wait(PATIENCE) for producer in producers)
        kill()
        start()
    for producer in producers:
        producer.next_round()
        assert producer.progressed.wait(PATIENCE)
    stop.set()
    for one in working:
        one.result(PATIENCE)
    return producers


def check(service: EmbeddedService, stream: StreamRef, producers: list[Producer]) -> None:
    """Fail if anything is lost, doubled, or miscounted."""
    before = service.describe(stream)
    found = documents(service, stream)
    assert [document["offset"] for document in found] == list(range(len(found)))
    places = {document["idempotency_key"]: document["offset"] for document in found}
    assert len(places) == len(found)
    assert all(document["payload"] == document["idempotency_key"] for document in found)
    told = {key: offset for producer in producers for key, offset in producer.told.items()}
    # All of them were answered in the end.
    assert told == places
    assert (before.last_offset, before.total_items, before.pending_items) == (len(found) - 1, len(found), len(found))
    again = producers[0].line.append(stream, [item(key, key) for key in [*producers[0].told][-3:]])
    assert again.accepted == 0
    for producer in producers:
        offsets = [producer.told[key] for key in sorted(producer.told, key=lambda key: int(key.rpartition("-")[2]))]
        assert offsets == sorted(offsets)
    print(json.dumps({"items": len(found), "asked again": sum(p.line.asked_again for p in producers)}))  # noqa: T201


def killed_server_of_producers(place: Place, folder: Path, rounds: int) -> None:
    """Kill the process that serves them."""
    keeper, stream = Keeper(place.url, folder), place.stream()
    keeper.start()
    try:
        producers = suffered(keeper, stream, rounds, keeper.kill, keeper.start)
        assert sum(producer.line.asked_again for producer in producers) > 0
        check(place.shared, stream, producers)
    finally:
        keeper.kill()


def test_a_killed_server_of_producers_loses_and_doubles_nothing(place: Place, tmp_path: Path) -> None:
    killed_server_of_producers(place, tmp_path, 1)


@pytest.mark.long
def test_a_server_of_producers_that_is_killed_ten_times_loses_and_doubles_nothing(place: Place, tmp_path: Path) -> None:
    killed_server_of_producers(place, tmp_path, 10)


def killed_database(kind: str, folder: Path, rounds: int) -> None:
    """Kill the server of the database under a process that goes on."""
    with running(kind) as there:
        keeper, stream = Keeper(there.url, folder), Run("default", "wf", "r").stream("out")
        keeper.start()
        try:
            producers = suffered(keeper, stream, rounds, there.server.kill, there.server.start)
            store = spi.open_store(parse_url(there.url), StoreOptions())
            service = EmbeddedService(store)
            check(service, stream, producers)
            service.close()
        finally:
            keeper.kill()


@pytest.mark.parametrize("kind", ["postgres", "mysql"])
def test_a_killed_database_loses_and_doubles_nothing(kind: str, tmp_path: Path) -> None:
    killed_database(kind, tmp_path, 1)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["postgres", "mysql"])
def test_a_database_that_is_killed_ten_times_loses_and_doubles_nothing(kind: str, tmp_path: Path) -> None:
    killed_database(kind, tmp_path, 10)
