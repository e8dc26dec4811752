"""What both colours of a client and of a subscription do alike: everything that does not wait for the store."""

from collections.abc import Iterable
from typing import ClassVar

from tailrace.engine import Engine, Reader
from tailrace.instrument import Hook
from tailrace.options import EngineOptions
from tailrace.records import StreamEnd, TopicCursor
from tailrace.spi import Backend, Capabilities


class ClientFacade:
    """An engine, as its owner sees it.

    Args:
        backend: The store; it is closed with this client.
        options: Bounds and timeouts.
        hooks: Called with what happens; see :mod:`tailrace.instrument`.
    """

    _colour: ClassVar[str] = ""

    def __init__(self, backend: Backend, *, options: EngineOptions | None = None, hooks: Iterable[Hook] = ()) -> None:
        self._engine = Engine(backend, options or EngineOptions(), hooks)

    @property
    def capabilities(self) -> Capabilities:
        """What the store can and can not do."""
        return self._engine.backend.capabilities

    def stats(self) -> dict[str, int | float | bool | None]:
        """Return counters and gauges of this client, by name. Does not block on the store."""
        return self._engine.stats()

    def __repr__(self) -> str:
        return f"<{self._colour}{self._engine.describe()}>"


class SubscriptionFacade:
    """A reader, as its owner sees it."""

    __slots__ = ("_reader", "_ready")
    _colour: ClassVar[str] = ""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._ready = reader.ready

    def close(self) -> None:
        """End this subscription. Idempotent, never raises, does not block; from any thread or task.

        A ``receive`` that waits returns ``CLOSED`` within 100 ms, as do all later ones.
        """
        self._reader.close()

    @property
    def cursor(self) -> TopicCursor:
        """The safe place to resume from, at any time: after the last record returned, or the fixed start."""
        return self._reader.cursor

    @property
    def end(self) -> StreamEnd | None:
        """Why this subscription ended; ``None`` while it has not."""
        return self._reader.end

    def __repr__(self) -> str:
        return f"<{self._colour}{self._reader.describe()}>"
