"""S19: a reconnect that saw nothing forgets nothing, and who knows better than the address is believed."""

from collections.abc import Callable

from tests.http.reader import Reader, path_of
from tests.http.server import LocalServer, Replica


def test_three_connections_that_saw_only_heartbeats_lose_nothing(server: LocalServer) -> None:
    topic = server.streams.topic("quiet")
    topic.append(b"before")
    with Reader(server.port, path_of("quiet", start="beginning")) as reader:
        reader.until_records(1)
    last_id = reader.last_id
    for _ in range(3):
        with Reader(server.port, path_of("quiet", start="beginning"), last_id) as reader:
            reader.until(lambda seen: seen.parser.comments >= 1)
            reader.reset()
        assert reader.events == []
        # A browser has the id that the stream began with, and no heartbeat took it away.
        assert reader.last_id
        last_id = reader.last_id
    topic.append_many([b"%d" % number for number in range(5)])

    with Reader(server.port, path_of("quiet", start="beginning"), last_id) as reader:
        assert reader.until_records(5) == [b"0", b"1", b"2", b"3", b"4"]


def test_the_first_thing_sent_is_an_id_without_an_event(server: LocalServer) -> None:
    with Reader(server.port, path_of("new", start="tail")) as reader:
        reader.until(lambda seen: seen.parser.blocks != [])

        assert reader.parser.blocks == [("retry", "id")]
        assert reader.events == []
        assert reader.parser.retry == 200


def test_a_start_at_the_tail_is_where_the_tail_was_when_the_stream_first_began(server: LocalServer) -> None:
    topic = server.streams.topic("tail")
    topic.append(b"old")
    with Reader(server.port, path_of("tail", start="tail")) as reader:
        reader.until(lambda seen: bool(seen.last_id))
    topic.append(b"meanwhile")

    with Reader(server.port, path_of("tail", start="tail"), reader.last_id) as reader:
        assert reader.until_records(1) == [b"meanwhile"]


def test_heartbeats_have_no_id(server: LocalServer) -> None:
    with Reader(server.port, path_of("beats", start="tail")) as reader:
        reader.until(lambda seen: seen.parser.comments == 3)

        assert reader.parser.blocks == [("retry", "id")]
        assert reader.response.chunks[1:] == [b":\n\n"] * 3


def test_the_header_beats_the_query(server: LocalServer) -> None:
    topic = server.streams.topic("both")
    with Reader(server.port, path_of("both", start="tail")) as reader:
        reader.until(lambda seen: bool(seen.last_id))
    first_id = reader.last_id
    topic.append_many([b"%d" % number for number in range(1, 10)])
    with Reader(server.port, path_of("both", cursor=first_id)) as reader:
        assert reader.until_records(9)[-1] == b"9"
    sixth = reader.events[5].id

    for query in ({"cursor": first_id}, {"start": "beginning"}, {"start": "tail"}, {"cursor": "nonsense"}):
        with Reader(server.port, path_of("both", **query), sixth) as reader:
            assert reader.until_records(3) == [b"7", b"8", b"9"]


def test_a_header_without_an_id_is_none(server: LocalServer) -> None:
    server.streams.topic("empty id").append(b"x")

    with Reader(server.port, path_of("empty id", start="beginning"), "") as reader:
        assert reader.until_records(1) == [b"x"]


def test_a_server_that_dies_loses_nothing(replica: Callable[..., Replica], store: str) -> None:
    server = replica()
    with Reader(server.port, path_of("dies", start="tail")) as reader:
        reader.until(lambda seen: bool(seen.last_id))
        server.kill()
        server.start()
    with Reader(server.port, path_of("dies", start="tail"), reader.last_id) as second:
        second.until(lambda seen: bool(seen.last_id))
        server.kill()
        server.start()
    with LocalServer(store) as other:
        other.streams.topic("dies").append(b"after two deaths")

    with Reader(server.port, path_of("dies", start="tail"), second.last_id) as third:
        assert third.until_records(1) == [b"after two deaths"]
