"""S05 with a real server: an operator puts yesterday's snapshot back under the feet of whoever is connected."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.faults.running import KINDS, Running, running

import tailrace
from tailrace.errors import CursorUnavailableError
from tailrace.testing.reading import Background, numbered, payloads, read_until_lost, take


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest) -> Iterator[Running]:
    with running(request.param) as server:
        yield server


@pytest.mark.parametrize("others", [30, *(pytest.param(number, marks=pytest.mark.long) for number in (1, 40))])
def test_a_snapshot_of_50_is_restored_and_others_are_appended(server: Running, tmp_path: Path, others: int) -> None:
    with tailrace.connect(server.url) as streams, tailrace.connect(server.url) as elsewhere:
        topic = streams.topic("t")
        topic.append_many(numbered(50))
        at_50 = topic.checkpoint()
        server.backup(tmp_path / "yesterday")
        topic.append_many(numbered(30, 50))
        at_80 = topic.checkpoint()
        with topic.subscribe_from_beginning() as live:
            take(live, 80)
            waiting = Background(lambda: read_until_lost(live))
            server.restore(tmp_path / "yesterday")
            append_when_it_is_back(elsewhere.topic("t"), [b"other %d" % number for number in range(others)])
            assert waiting.result() == []
        with pytest.raises(CursorUnavailableError):
            topic.subscribe_from_cursor(at_80).__enter__()
        with topic.subscribe_from_cursor(at_50) as again:
            assert payloads(take(again, others)) == [b"other %d" % number for number in range(others)]


def append_when_it_is_back(topic: tailrace.Topic, found: list[bytes]) -> None:
    """Append; the server is up again, but a connection of before may have to be given up first."""
    deadline = time.monotonic() + 30
    while True:
        try:
            return topic.append_many(found)
        except tailrace.DurableStreamUnavailableError as error:
            assert error.maybe_stored is False  # noqa: PT017
            assert time.monotonic() < deadline, error  # noqa: PT017
