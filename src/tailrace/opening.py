"""What ``connect`` does in both colours: from a URL and options to a store and the engine's options."""

from collections.abc import Iterable, Mapping
from typing import Protocol, TypedDict

from tailrace.arguments import known_options
from tailrace.instrument import Hook
from tailrace.options import EngineOptions, StoreOptions, parse_url
from tailrace.retention import Retention
from tailrace.spi import Backend, open_engine, open_store


class Engine(Protocol):
    """What is used of an ``Engine`` or ``AsyncEngine`` of SQLAlchemy: how it connects; never its connections."""

    @property
    def url(self) -> object:
        """Where it connects to."""
        ...

    @property
    def dialect(self) -> object:
        """Of which database and driver."""
        ...

    @property
    def pool(self) -> object:
        """With which arguments, creator and events."""
        ...


class ConnectOptions(TypedDict, total=False):
    """Keyword arguments of ``connect``.

    Attributes:
        retention: How long records are kept; for ever by default.
        topic_retention: Instead of ``retention`` for topics that match a pattern: ``{"run:*": Retention(...)}``.
        append_timeout: Seconds that one append may take (10).
        outage_budget: Seconds that subscriptions ride out a store that is away (30); 0 raises at once.
        buffer_records: Undelivered records held per subscription (2048).
        buffer_bytes: Undelivered payload bytes held per subscription (4 MiB).
        max_payload: Bytes in one payload (16 MiB).
        tombstone_for: Seconds that a deleted topic is remembered (30 days).
        forget_after: Seconds after which a sweep forgets an emptied, idle topic; ``None``, the default, never.
        create: Whether a missing store may be created, and an older one be brought up to this release. By default an
            embedded one is, and the tables of a server are not.
        hooks: Called with what happens; see :mod:`tailrace.instrument`.
    """

    retention: Retention | None
    topic_retention: Mapping[str, Retention]
    append_timeout: float
    outage_budget: float
    buffer_records: int
    buffer_bytes: int
    max_payload: int
    tombstone_for: float
    forget_after: float | None
    create: bool | None
    hooks: Iterable[Hook]


_OF_STORE = {"retention", "topic_retention", "append_timeout", "tombstone_for", "forget_after", "create"}
_OF_ENGINE = {"append_timeout", "outage_budget", "buffer_records", "buffer_bytes", "max_payload"}


def open_backend(url: str | Engine, options: ConnectOptions) -> tuple[Backend, EngineOptions]:
    """Open the store that a URL names, or that an ``Engine`` of SQLAlchemy leads to. Blocks on it; starts no thread.

    Raises:
        InvalidArgumentError: The URL or an option is wrong.
        StoreUnusableError: The store can not be used as it is; the message says what to do.
        DurableStreamUnavailableError: The store is away.
    """
    known_options("connect", options, ConnectOptions.__annotations__)
    given = dict(options)
    if given.get("retention", ...) is None:
        del given["retention"]
    store = StoreOptions(**{name: given[name] for name in given.keys() & _OF_STORE})  # type: ignore[arg-type]
    engine = EngineOptions(**{name: given[name] for name in given.keys() & _OF_ENGINE})  # type: ignore[arg-type]
    if isinstance(url, str):
        return open_store(parse_url(url), store), engine
    return open_engine(url, store), engine
