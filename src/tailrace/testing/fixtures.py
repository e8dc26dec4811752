"""The fixtures that cases are written with; ``tailrace.testing.contract`` brings them along.

Yours is ``store_under_test``. Everything here is opened on the store that it returns, and closed
after the case.
"""

import gc
import sys
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Protocol, TypeVar

import pytest

from tailrace import native, spi
from tailrace.options import EngineOptions, StoreOptions
from tailrace.testing.aio_driver import AsyncDriver
from tailrace.testing.drivers import Client, Driver, SyncDriver, Topic
from tailrace.testing.faults import FaultyBackend
from tailrace.testing.gevent_driver import GeventDriver
from tailrace.testing.plugin import enroll
from tailrace.testing.stores import StoreUnderTest

__all__ = [
    "connect",
    "driver",
    "elsewhere",
    "faulty",
    "name",
    "peer_topic",
    "repeats",
    "store",
    "streams",
    "swallowed_interrupts",
    "topic",
]

T = TypeVar("T", StoreOptions, EngineOptions)

# No event loop runs among greenlets: a run in a patched process is theirs.
DRIVERS: tuple[Driver, ...] = (GeventDriver(),) if native.patched() else (SyncDriver(), AsyncDriver())


class Connect(Protocol):
    """Opens another client; takes any option of the store or of the engine."""

    def __call__(self, backend: spi.Backend | None = None, **options: object) -> Client: ...


@pytest.fixture(params=DRIVERS, ids=lambda driver: driver.name)
def driver(request: pytest.FixtureRequest) -> Driver:
    """The facade that the case is performed through."""
    chosen: Driver = request.param
    return chosen


@pytest.fixture
def repeats() -> int:
    """How often a case about what is left behind repeats itself. Define your own for a longer run."""
    return 60


@pytest.fixture
def swallowed_interrupts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Threads are interrupted anywhere in this case, and what Python says of it on the side is unheard.

    An interrupt inside a ``__del__`` or a weak reference's callback is swallowed and reported as unraisable; one inside
    of a driver's connecting leaves a socket that nobody has closed yet.
    """
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    yield
    gc.collect()


@pytest.fixture
def store(store_under_test: StoreUnderTest, request: pytest.FixtureRequest) -> Iterator[StoreUnderTest]:
    """The store under test, known to be there and named in the report."""
    enroll(request, store_under_test)
    yield store_under_test
    store_under_test.close()


@pytest.fixture
def connect(store: StoreUnderTest, driver: Driver) -> Iterator[Connect]:
    """Opens clients, each on a handle of its own."""
    clients: list[Client] = []

    def connect(backend: spi.Backend | None = None, **options: object) -> Client:
        unknown = options.keys() - {field.name for kind in (StoreOptions, EngineOptions) for field in fields(kind)}
        assert not unknown, unknown
        if backend is None:
            backend = store.open(_pick(StoreOptions, options))
        clients.append(driver.connect(backend, _pick(EngineOptions, options)))
        return clients[-1]

    yield connect
    for client in reversed(clients):
        client.close()


@pytest.fixture
def streams(connect: Connect) -> Client:
    """A client with default options."""
    return connect()


@pytest.fixture
def elsewhere(connect: Connect) -> Client:
    """A second client that shares nothing with ``streams`` but the store."""
    return connect()


@pytest.fixture
def name(store: StoreUnderTest) -> str:
    """The name of a topic that does not exist."""
    return store.fresh_name()


@pytest.fixture
def topic(streams: Client, name: str) -> Topic:
    """That topic."""
    return streams.topic(name)


@pytest.fixture
def peer_topic(elsewhere: Client, name: str) -> Topic:
    """The same topic, through the second client."""
    return elsewhere.topic(name)


@pytest.fixture
def faulty(store: StoreUnderTest) -> FaultyBackend:
    """A handle on the store that misbehaves on demand; hand it to ``connect``."""
    return FaultyBackend(store.open())


def _pick(kind: type[T], options: dict[str, Any]) -> T:
    wanted = {field.name for field in fields(kind)}
    return kind(**{key: value for key, value in options.items() if key in wanted})
