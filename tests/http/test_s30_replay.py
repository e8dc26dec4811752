"""S30: what is read again is what was read first, byte for byte, whatever the size, wherever it was cut off."""

from collections.abc import Callable

import pytest
from tests.http.parser import Event, events_of
from tests.http.reader import Reader, path_of
from tests.http.server import LocalServer

SIZES = (10, 11, 1_000, 2 * 2**20, 10, 70_000, 300_000, 12, 64 * 1024, 2**20, 13)
PAYLOADS = [bytes([97 + index]) * size for index, size in enumerate(SIZES)]


def _stripped(events: list[Event]) -> list[tuple[str, str]]:
    """What an application sees. Two tokens of one place differ."""
    return [(event.type, event.data) for event in events]


@pytest.mark.parametrize("error", [None, "the worker failed"])
def test_the_first_k_and_the_resumed_rest_are_the_whole(server: LocalServer, error: str | None) -> None:
    topic = server.streams.topic("items")
    with Reader(server.port, path_of("items", start="tail")) as live:
        live.until(lambda seen: bool(seen.last_id))
        start = live.last_id
        for payload in PAYLOADS:
            topic.append(payload)
        topic.seal(error=error)
        live.to_end()
    assert live.payloads == PAYLOADS
    whole = _stripped(live.events)
    assert [kind for kind, _ in whole] == ["message"] * len(PAYLOADS) + ["end"]
    assert ("the worker failed" in whole[-1][1]) == (error is not None)

    for k, last_id in enumerate([start, *(event.id for event in live.events[:-1])]):
        with Reader(server.port, path_of("items", start="tail"), last_id) as resumed:
            resumed.to_end()
        assert whole[:k] + _stripped(resumed.events) == whole, f"resumed after {k}"

    with Reader(server.port, path_of("items", start="tail"), live.last_id) as over:
        assert over.to_end().response.status == 204


def test_live_and_replayed_bytes_are_equal_but_for_the_tokens(server: LocalServer) -> None:
    topic = server.streams.topic("bytes")
    payloads = [b"", b"a\nb", b"\xff\x00\r", b" :x", "é\u2028".encode(), b"z" * 100_000]
    with Reader(server.port, path_of("bytes", start="tail")) as live:
        live.until(lambda seen: bool(seen.last_id))
        for payload in payloads:
            topic.append(payload)
        live.until_records(len(payloads))
    with Reader(server.port, path_of("bytes", start="beginning")) as replayed:
        replayed.until_records(len(payloads))

    assert _without_ids(live) == _without_ids(replayed)


@pytest.mark.parametrize("cut", [1, 7, 40, 130, 250, 300, 399])
def test_who_is_cut_off_inside_an_event_gets_it_whole(serve: Callable[..., LocalServer], cut: int) -> None:
    server, other = serve(), serve()
    payloads = [b"%d" % number * 20 for number in range(20)]
    server.streams.topic("cut").append_many(payloads)
    with Reader(server.port, path_of("cut", start="beginning")) as whole:
        whole.until_records(20)
    # What a browser has when its connection breaks there: only what a blank line has ended counts.
    seen = whole.body[: len(whole.body) // 2 + cut]
    had = events_of(seen)
    with Reader(other.port, path_of("cut", start="beginning"), had[-1].id) as resumed:
        rest = resumed.until_records(20 - len(had))

    assert [event.payload for event in had] + rest == payloads


def _without_ids(reader: Reader) -> bytes:
    return b"\n".join(line for line in reader.body.split(b"\n") if not line.startswith(b"id:"))
