"""Who performs the cases: one driver per facade, each presenting the synchronous shape of a client.

A case uses only what the protocols below name, so that a driver over an event loop or over greenlets
runs the very same cases.
"""

from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from tailrace import spi
from tailrace.operations import Operations
from tailrace.options import EngineOptions
from tailrace.protocols import DurableStreamProducer
from tailrace.records import Closed, DurableStreamRecord, StreamEnd, TopicCursor
from tailrace.testing.calls import Call, ThreadCall

T = TypeVar("T")


class Subscription(Protocol):
    """A subscription with what Tailrace adds to the contract's own."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None, /
    ) -> None: ...
    def receive(self, timeout: float = 0.1) -> DurableStreamRecord | Closed | None: ...
    def close(self) -> None: ...
    @property
    def cursor(self) -> TopicCursor: ...
    @property
    def end(self) -> StreamEnd | None: ...


class Topic(Protocol):
    """A topic with what Tailrace adds to the contract's own."""

    @property
    def name(self) -> str: ...
    def append(self, payload: bytes) -> None: ...
    def append_many(self, payloads: Iterable[bytes]) -> None: ...
    def as_producer(self) -> DurableStreamProducer: ...
    def subscribe_from_beginning(self) -> Subscription: ...
    def subscribe_from_cursor(self, cursor: TopicCursor) -> Subscription: ...
    def subscribe_from_tail(self) -> Subscription: ...
    def checkpoint(self) -> TopicCursor: ...
    def seal(self, *, error: str | None = None) -> None: ...


class Client(Protocol):
    """One connection to a store."""

    def topic(self, name: str) -> Topic: ...
    def stats(self) -> Mapping[str, Any]: ...
    def close(self) -> None: ...
    @property
    def capabilities(self) -> spi.Capabilities: ...
    @property
    def maintenance(self) -> Operations: ...


class Driver(Protocol):
    """Turns a store handle into a client."""

    @property
    def name(self) -> str: ...
    @property
    def callers_send(self) -> bool:
        """Whether the calling thread itself enters the store, so that an interruption inside it is the caller's."""
        ...

    def connect(self, backend: spi.Backend, options: EngineOptions) -> Client:
        """Return a client that owns ``backend`` and closes it."""
        ...

    def start(self, call: Callable[[], T]) -> Call[T]:
        """Begin a call of this facade, which can be cancelled as its callers can be."""
        ...


class SyncDriver(Driver):
    """The blocking client, as it is."""

    name = "sync"
    callers_send = True

    def connect(self, backend: spi.Backend, options: EngineOptions) -> Client:
        # Imported late: the plugin reaches this module in projects that never run a case.
        from tailrace import StreamClient

        return StreamClient(backend, options=options)

    def start(self, call: Callable[[], T]) -> Call[T]:
        return ThreadCall(call)
