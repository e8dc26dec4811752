"""``connect``: from a store URL to topics."""

from types import TracebackType
from typing import Self

from tailrace import arguments
from tailrace.engine import Engine
from tailrace.errors import InvalidArgumentError
from tailrace.options import EngineOptions, Retention, StoreOptions, parse_url
from tailrace.spi import Backend, Capabilities, Maintenance, open_store
from tailrace.topic import Topic

_ENGINE = EngineOptions()
_STORE = StoreOptions()


def connect(
    url: str,
    *,
    retention: Retention | None = None,
    append_timeout: float = _ENGINE.append_timeout,
    outage_budget: float = _ENGINE.outage_budget,
    buffer_records: int = _ENGINE.buffer_records,
    buffer_bytes: int = _ENGINE.buffer_bytes,
    tombstone_for: float = _STORE.tombstone_for,
    forget_after: float | None = _STORE.forget_after,
    create: bool = _STORE.create,
) -> "StreamClient":
    """Open a store. Blocks on it; starts no thread.

    Args:
        url: ``sqlite:///relative.db``, ``sqlite:////absolute.db``, ``memory://``, or another adapter's.
        retention: How long records are kept; for ever by default.
        append_timeout: Seconds that one append may take.
        outage_budget: Seconds that subscriptions ride out a store that is away; 0 raises at once.
        buffer_records: Undelivered records held per subscription.
        buffer_bytes: Undelivered payload bytes held per subscription.
        tombstone_for: Seconds that a deleted topic is remembered.
        forget_after: Seconds after which a sweep forgets an emptied, idle topic; ``None`` never.
        create: Whether a missing store may be created.

    Raises:
        InvalidArgumentError: The URL or an option is wrong.
        StoreUnusableError: The store can not be used as it is; the message says what to do.
        DurableStreamUnavailableError: The store is away.
    """
    store = StoreOptions(
        retention=retention or Retention(),
        append_timeout=append_timeout,
        tombstone_for=tombstone_for,
        forget_after=forget_after,
        create=create,
    )
    engine = EngineOptions(
        append_timeout=append_timeout,
        outage_budget=outage_budget,
        buffer_records=buffer_records,
        buffer_bytes=buffer_bytes,
    )
    return StreamClient(open_store(parse_url(url), store), options=engine)


class StreamClient:
    """Topics of one store. Thread-safe; a forked child may go on using it and gets its own connections.

    Args:
        backend: The store; it is closed with this client.
        options: Bounds and timeouts.
    """

    def __init__(self, backend: Backend, *, options: EngineOptions | None = None) -> None:
        self._engine = Engine(backend, options or EngineOptions())

    def topic(self, name: str) -> Topic:
        """Return a topic by name. Does no I/O and creates nothing.

        Raises:
            InvalidTopicNameError: No store could keep that name.
        """
        return Topic(self._engine, arguments.topic_name(name))

    @property
    def capabilities(self) -> Capabilities:
        """What the store can and can not do."""
        return self._engine.backend.capabilities

    @property
    def maintenance(self) -> Maintenance:
        """Operations on the store: list, trim, delete, sweep.

        Raises:
            InvalidArgumentError: This store has none of its own.
        """
        backend = self._engine.backend
        if not isinstance(backend, Maintenance):
            raise InvalidArgumentError(f"{self.capabilities.store} offers no maintenance through Tailrace")
        return backend

    def stats(self) -> dict[str, int | float | bool | None]:
        """Return counters and gauges of this client, by name. Does not block on the store."""
        return self._engine.stats()

    def close(self) -> None:
        """End every subscription with ``CLOSED`` and release the store. Idempotent, never raises."""
        self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._engine.closed else f"{self.stats()['subscriptions']} subscriptions"
        return f"<StreamClient on {self.capabilities.store}: {state}>"
