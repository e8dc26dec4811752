"""A proxy in front of a real server loses exactly the command or the reply that it was told to lose."""

from collections.abc import Iterator

import pytest

from tailrace.testing.faults import RespProxy
from tailrace.testing.servers.redis import RedisServer
from tailrace.testing.servers.redis.resp import Connection


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture
def proxy(server: RedisServer) -> Iterator[RespProxy]:
    server.call("FLUSHALL")
    with RespProxy(server.address) as proxy:
        yield proxy


def test_the_nth_reply_is_lost_after_the_server_did_what_it_was_asked(server: RedisServer, proxy: RespProxy) -> None:
    loss = proxy.lose_reply("^incr a$", nth=2)
    with Connection(proxy.port) as first, Connection(proxy.port) as second:
        assert first.call("INCR", "a") == 1
        assert first.call("INCR", "b") == 1
        assert not loss.happened.is_set()
        with pytest.raises(ConnectionError):
            first.call("INCR", "a")
        assert loss.happened.is_set()
        assert second.call("INCR", "a") == 3
    assert server.call("GET", "b") == b"1"


def test_a_request_can_be_lost_too(server: RedisServer, proxy: RespProxy) -> None:
    loss = proxy.lose_request("^INCR")
    with Connection(proxy.port) as connection, pytest.raises(ConnectionError):
        connection.call("INCR", "a")
    assert loss.happened.is_set()
    assert server.call("GET", "a") is None


@pytest.mark.parametrize("protocol", [2, 3])
def test_a_pipeline_is_answered_up_to_the_lost_reply(server: RedisServer, proxy: RespProxy, protocol: int) -> None:
    proxy.lose_reply("^INCR c")
    with Connection(proxy.port) as connection:
        # At once: what is sent after the loss would find the connection closed.
        connection.send_all([("HELLO", protocol), *(("INCR", name) for name in "abcd")])
        greeting = connection.receive()
        assert isinstance(greeting, list)
        assert b"proto" in greeting
        assert [connection.receive(), connection.receive()] == [1, 1]
        with pytest.raises(ConnectionError):
            connection.receive()
    assert server.call("MGET", *"abcd") == [b"1"] * 4


def test_large_and_nested_answers_pass_untouched(proxy: RespProxy) -> None:
    with Connection(proxy.port) as connection:
        for number in range(20):
            connection.call("XADD", "s", f"{number + 1}-0", "d", b"\r\n" * 50_000)
        entries = connection.call("XRANGE", "s", "-", "+")
        assert entries == [[b"%d-0" % (number + 1), [b"d", b"\r\n" * 50_000]] for number in range(20)]


def test_commands_are_counted(proxy: RespProxy) -> None:
    with Connection(proxy.port) as first, Connection(proxy.port) as second:
        first.call("SET", "a", "b")
        second.call("get", "a")
        second.call("GET", "a")
    assert proxy.seen == {"SET": 1, "GET": 2}
