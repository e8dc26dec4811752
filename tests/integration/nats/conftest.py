"""A server whose settings nobody changes, and a store on it with streams of the test's own."""

import secrets
from collections.abc import Iterator

import pytest

from tailrace.testing.servers.nats import NatsServer


@pytest.fixture(scope="module")
def server() -> Iterator[NatsServer]:
    """A server with JetStream."""
    with NatsServer() as server:
        yield server


@pytest.fixture
def stream(server: NatsServer) -> Iterator[str]:
    """The name of a stream that is not there; whatever a store makes of it is removed."""
    name = f"t{secrets.token_hex(4)}"
    yield name
    for found in server.streams():
        if name in found:
            server.drop(found)


@pytest.fixture
def url(server: NatsServer, stream: str) -> str:
    """The URL of a store that is not there."""
    return server.url(stream=stream)
