"""Real servers, of every flavour that is here."""

from collections.abc import Iterator

import pytest

from tailrace.testing.servers import postgres
from tailrace.testing.servers.redis import Flavour, RedisServer, flavours


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that asks for a ``kind`` once with each server program; where that takes long, mostly with one."""
    kinds = flavours()
    if "kind" in metafunc.fixturenames:
        metafunc.parametrize("kind", kinds, ids=lambda kind: kind.name, scope="module")
    if "slow_kind" in metafunc.fixturenames:
        newest = max(kinds, key=lambda kind: kind.version)
        params = [pytest.param(kind, id=kind.name, marks=() if kind is newest else pytest.mark.long) for kind in kinds]
        metafunc.parametrize("slow_kind", params, scope="module")
    if "postgres_kind" in metafunc.fixturenames:
        metafunc.parametrize("postgres_kind", postgres.flavours(), ids=lambda kind: kind.name, scope="module")


@pytest.fixture
def server(kind: Flavour) -> Iterator[RedisServer]:
    """A server without anything special."""
    with RedisServer(kind) as server:
        yield server
