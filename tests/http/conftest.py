"""What tests of the HTTP server share: a store, the keys, a server that they may look into, and replicas to kill."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.http.browser import Browser
from tests.http.server import LocalServer, Replica
from tests.redis_server import redis_server

from tailrace.tokens import KeyRing


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    with redis_server() as url:
        yield url


@pytest.fixture
def store(tmp_path: Path) -> str:
    """A store that processes share."""
    return f"sqlite:///{tmp_path}/events.db"


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    path = tmp_path / "keys"
    path.write_text(KeyRing.new().text, encoding="utf-8")
    path.chmod(0o600)
    return path


@pytest.fixture
def serve(store: str, keys: Path) -> Iterator[Callable[..., LocalServer]]:
    """Start servers in threads of this process, all with the same keys, on one store if nothing else is said."""
    with ExitStack() as stack:

        def start(url: str = store, **settings: Any) -> LocalServer:
            return stack.enter_context(LocalServer(url, ring=KeyRing.from_file(keys), **settings))

        yield start


@pytest.fixture
def server(serve: Callable[..., LocalServer]) -> LocalServer:
    return serve()


@pytest.fixture
def replica(store: str, keys: Path) -> Iterator[Callable[..., Replica]]:
    """Start server processes, all with the same keys, on one store if nothing else is said."""
    with ExitStack() as stack:

        def start(url: str = store, **settings: Any) -> Replica:
            return stack.enter_context(Replica(url, keys, **settings))

        yield start


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with Browser() as started:
        yield started


@pytest.fixture(scope="session")
def client() -> Iterator[httpx.Client]:
    """One for all: making one takes longer than most requests."""
    with httpx.Client(timeout=30, limits=httpx.Limits(max_keepalive_connections=0)) as made:
        yield made
