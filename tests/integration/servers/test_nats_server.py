"""A NATS server that a test starts is a real one, keeps its place and its data, and leaves nothing behind."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tailrace.testing.leaks import no_leaks
from tailrace.testing.servers import ServerFailedError, ServerMissingError
from tailrace.testing.servers.nats import Connection, NatsError, NatsServer, flavour, flavours

OTHERS = [pytest.param(kind, id=kind.name, marks=pytest.mark.long) for kind in flavours()[1:]]


@pytest.fixture(scope="module", params=[*(pytest.param(kind, id=kind.name) for kind in flavours()[:1]), *OTHERS])
def shared(request: pytest.FixtureRequest) -> Iterator[NatsServer]:
    """A server whose settings nobody changes, and that runs at the end of each test."""
    with NatsServer(request.param) as server:
        yield server


@pytest.fixture
def stream(shared: NatsServer) -> Iterator[str]:
    """A stream of the subjects below its name."""
    shared.call("STREAM.CREATE.events", name="events", subjects=["events.>"], storage="file")
    yield "events"
    shared.drop("events")


def stored(server: NatsServer) -> int:
    """How many messages the stream has."""
    count = server.call("STREAM.INFO.events")["state"]["messages"]
    assert isinstance(count, int)
    return count


def store(server: NatsServer, payload: bytes = b"x") -> None:
    """Store one message."""
    with server.connect() as connection:
        assert b'"seq"' in connection.request("events.a", payload)


def test_it_is_what_it_says_it_is(shared: NatsServer) -> None:
    with shared.connect() as connection:
        assert connection.info["version"] == shared.flavour.name.removeprefix("nats-")
    assert shared.port + 2 < 32768


def _crash(server: NatsServer) -> None:
    server.kill()
    server.start()


@pytest.mark.parametrize("blow", [NatsServer.restart, _crash])
def test_what_was_acknowledged_survives(shared: NatsServer, stream: str, blow: Callable[[NatsServer], None]) -> None:
    port = shared.port
    store(shared)
    with shared.connect() as connection:
        blow(shared)
        with pytest.raises((OSError, NatsError)):
            connection.request("events.a")
    assert stored(shared) == 1
    assert shared.port == port


def test_a_backup_is_what_was_there_and_comes_back_under_whoever_is_connected(
    shared: NatsServer, stream: str, tmp_path: Path
) -> None:
    store(shared)
    with shared.connect() as connection:
        shared.backup(tmp_path / "copy")
        assert b'"seq"' in connection.request("events.a", b"later")
        assert stored(shared) == 2
        shared.restore(tmp_path / "copy")
        with pytest.raises(OSError):
            connection.request("events.a")
    assert stored(shared) == 1


def test_frozen_it_takes_connections_and_answers_nobody_until_it_goes_on(shared: NatsServer) -> None:
    answered = threading.Event()
    with shared.connect() as connection:
        shared.freeze()

        def ask() -> None:
            connection.jetstream("INFO")
            answered.set()

        thread = threading.Thread(target=ask)
        thread.start()
        try:
            with pytest.raises(TimeoutError):
                Connection(shared.port, timeout=0.3)
            assert not answered.is_set()
            assert shared.alive
        finally:
            shared.thaw()
            thread.join()
    assert answered.is_set()


def test_who_shows_nothing_is_not_let_in_and_what_a_user_may_not_is_named() -> None:
    users = {"operator": "p/w@", "reader": "r"}
    with NatsServer(users=users, permissions={"reader": {"publish": {"deny": ["$JS.API.>"]}}}) as server:
        assert server.streams() == []
        with pytest.raises(NatsError, match="Authorization Violation"):
            Connection(server.port)
        with Connection(server.port, login={"user": "reader", "pass": "r"}) as reader:
            with pytest.raises(NatsError, match="Permissions Violation"):
                reader.jetstream("INFO")


def test_a_token_is_asked_for() -> None:
    with NatsServer(token="se cret") as server:
        assert server.streams() == []
        with pytest.raises(NatsError):
            Connection(server.port)


@pytest.mark.parametrize("mutual", [False, True], ids=["of the server", "of both"])
def test_it_speaks_tls(mutual: bool) -> None:
    with NatsServer(tls=True, mutual=mutual) as server:
        assert server.streams() == []
        with pytest.raises((OSError, NatsError)):
            Connection(server.port)


def test_without_jetstream_nobody_answers_for_it() -> None:
    with NatsServer(jetstream=False) as server, pytest.raises(NatsError, match="nobody answers"):
        server.streams()


def test_a_store_that_is_full_says_so() -> None:
    with NatsServer(jetstream={"max_file": 2**20}) as server:
        server.call("STREAM.CREATE.events", name="events", subjects=["events.>"], storage="file")
        with server.connect() as connection:
            answers = [connection.request("events.a", bytes(200_000)) for _ in range(10)]
        assert b"insufficient" in answers[-1]


def test_a_configuration_that_it_does_not_take_is_told_with_the_end_of_its_log() -> None:
    with pytest.raises(ServerFailedError, match="no_such_setting"), NatsServer(settings={"no_such_setting": 1}):
        pass


def test_nothing_of_it_stays() -> None:
    with no_leaks():
        with NatsServer() as server:
            folder = server.folder
        assert not folder.exists()
        assert not server.alive


def test_the_wheels_and_debian_bring_the_newest_and_the_oldest() -> None:
    found = [kind.version for kind in flavours()]
    assert found == sorted(found, reverse=True)
    assert flavour().version >= (2, 15)
    for kind in flavours():
        assert flavour(kind.name) == kind
        assert flavour(kind.name.rpartition(".")[0]).version[:2] == kind.version[:2]


def test_the_one_that_is_named_by_hand_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    last = flavours()[-1]
    monkeypatch.setenv("TAILRACE_NATS_SERVER", str(last.binary))
    assert flavour().binary == last.binary
    assert flavour().source == "TAILRACE_NATS_SERVER"


@pytest.mark.parametrize("wrong", ["/no/such/server", "/bin/true"])
def test_a_name_that_is_no_server_is_not_passed_over(monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    monkeypatch.setenv("TAILRACE_NATS_SERVER", wrong)
    with pytest.raises(ServerMissingError, match=f"names {wrong}"):
        flavour()


def test_what_is_not_here_is_named_with_what_to_install() -> None:
    with pytest.raises(ServerMissingError, match=r"no server here is nats-2\.9 >= 99 .*make servers"):
        flavour("nats-2.9", at_least=(99,))
