"""S03 over HTTP: whatever byte the connection is cut at, one append is one record, or told as it is."""

from collections.abc import Callable, Iterator

import pytest
from tests.http.scripted import CuttingProxy
from tests.http.server import Replica

import tailrace
from tailrace.errors import DurableStreamUnavailableError
from tailrace.testing.leaks import no_leaks
from tailrace.testing.reading import numbered, read_all

# Of a request: nothing, its first byte, inside its head, inside its body, all of it but the last byte. The head of an
# append here has about 200 bytes, its body PAYLOAD and some.
PAYLOAD = b"x" * 1000
REQUESTS = [0, 1, 40, 150, 400, 900]
REPLIES = [0, 1, 10, 40, 90, 130, 160]


@pytest.fixture
def direct(replica: Callable[..., Replica]) -> Replica:
    return replica()


@pytest.fixture
def proxy(direct: Replica) -> Iterator[CuttingProxy]:
    with CuttingProxy(direct.address) as proxy:
        yield proxy


def outcome(topic: tailrace.Topic, payload: bytes) -> str:
    try:
        topic.append(payload)
    except DurableStreamUnavailableError as error:
        return "unknown" if error.maybe_stored else "refused"
    return "appended"


@pytest.mark.parametrize("direction", ["requests", "replies"])
def test_s03_an_append_that_is_cut_is_one_record_or_told(
    direction: str, direct: Replica, proxy: CuttingProxy, store: str
) -> None:
    with (
        no_leaks(pooled_files=10),
        tailrace.connect(f"http://127.0.0.1:{proxy.port}") as streams,
        tailrace.connect(store) as beside,
    ):
        topic = streams.topic("t")
        topic.append(b"before")
        stored, told = [b"before"], []
        for number, cut_at in enumerate(REQUESTS if direction == "requests" else REPLIES):
            payload = b"%d" % number + PAYLOAD
            proxy.cut_after(direction, cut_at)
            told.append(outcome(topic, payload))
            assert proxy.happened.is_set()
            found = contents(beside, len(stored))
            assert found in ([], [payload])
            assert found == [payload] if told[-1] == "appended" else told[-1] == "unknown" or not found
            stored += found
            assert outcome(topic, b"whole%d" % number) == "appended"
            stored.append(b"whole%d" % number)
        assert "appended" not in told
        if direction == "replies":
            assert told == ["unknown"] * len(REPLIES)
            # Stored each time: what was lost is only the answer.
            assert len(stored) == 1 + 2 * len(REPLIES)
        assert read_all(topic.subscribe_from_beginning(), len(stored)) == stored


def contents(streams: tailrace.StreamClient, after: int) -> list[bytes]:
    """Return what is stored beyond so many records."""
    with streams.topic("t").subscribe_from_beginning() as subscription:
        found = []
        while (record := subscription.receive(timeout=0.2)) is not None:
            found.append(record.payload)  # type: ignore[union-attr]
    return found[after:]


def test_a_read_that_is_cut_anywhere_goes_on_by_itself(proxy: CuttingProxy) -> None:
    expected = numbered(50)
    with no_leaks(pooled_files=10), tailrace.connect(f"http://127.0.0.1:{proxy.port}") as streams:
        topic = streams.topic("t")
        topic.append_many(expected)
        for cut_at in (0, 1, 12, 60, 120, 200, 400, 700):
            subscription = topic.subscribe_from_beginning()
            proxy.cut_after("replies", cut_at)
            assert read_all(subscription, 50) == expected
            assert proxy.happened.is_set()


def test_hints_that_are_cut_anywhere_are_asked_for_anew(proxy: CuttingProxy) -> None:
    with no_leaks(pooled_files=10), tailrace.connect(f"http://127.0.0.1:{proxy.port}") as streams:
        topic = streams.topic("t")
        with topic.subscribe_from_tail() as subscription:
            for number, cut_at in enumerate((0, 1, 30, 200)):
                subscription.receive(timeout=0.05)
                proxy.cut_after("replies", cut_at)
                outcome(topic, b"%d" % number)
                topic.append(b"after")
                seen = []
                while not seen or seen[-1] != b"after":
                    record = subscription.receive(timeout=20)
                    assert record is not None
                    seen.append(record.payload)  # type: ignore[union-attr]
                assert seen in ([b"%d" % number, b"after"], [b"after"])
