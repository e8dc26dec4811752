"""Real servers, of every flavour that is here."""

from collections.abc import Iterator

import pytest

from tailrace.testing.servers.redis import Flavour, RedisServer, flavours


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that asks for a ``kind`` once with each server program."""
    if "kind" in metafunc.fixturenames:
        metafunc.parametrize("kind", flavours(), ids=lambda kind: kind.name, scope="module")


@pytest.fixture
def server(kind: Flavour) -> Iterator[RedisServer]:
    """A server without anything special."""
    with RedisServer(kind) as server:
        yield server
