"""``connect``, awaited: from a store URL to topics."""

import asyncio
import functools
from concurrent.futures import Future
from types import TracebackType
from typing import Self

from typing_extensions import Unpack

from tailrace import arguments
from tailrace.aio.topic import Topic
from tailrace.engine import Workers
from tailrace.facade import ClientFacade
from tailrace.opening import ConnectOptions, Engine, open_backend
from tailrace.options import EngineOptions
from tailrace.spi import Backend


async def connect(url: str | Engine, **options: Unpack[ConnectOptions]) -> "StreamClient":
    """Open a store. Waits for it.

    Args:
        url: ``sqlite:///relative.db``, ``sqlite:////absolute.db``, ``redis://host:6379/0``, ``memory://``, or
            another store's; or an ``Engine`` or ``AsyncEngine`` of SQLAlchemy, for the database that it is for.
        options: See :class:`ConnectOptions`: ``retention``, ``topic_retention``, ``append_timeout``,
            ``outage_budget``, ``buffer_records``, ``buffer_bytes``, ``max_payload``, ``tombstone_for``,
            ``forget_after``, ``create``, ``hooks``.

    Raises:
        InvalidArgumentError: The URL or an option is wrong.
        StoreUnusableError: The store can not be used as it is; the message says what to do.
        DurableStreamUnavailableError: The store is away.
    """
    workers = Workers(1)
    opening = workers.run(functools.partial(open_backend, url, options))
    workers.close()
    try:
        backend, engine_options = await asyncio.wrap_future(opening)
    except asyncio.CancelledError:
        opening.add_done_callback(_close_unwanted)
        raise
    return StreamClient(backend, options=engine_options, hooks=options.get("hooks", ()))


class StreamClient(ClientFacade):
    """Topics of one store. May be used from several loops; a forked child gets its own connections.

    Args:
        backend: The store; it is closed with this client.
        options: Bounds and timeouts.
        hooks: Called with what happens; see :mod:`tailrace.instrument`.
    """

    _colour = "aio."

    def topic(self, name: str) -> Topic:
        """Return a topic by name. Does no I/O and creates nothing.

        Raises:
            InvalidTopicNameError: No store could keep that name.
        """
        return Topic(self._engine, arguments.topic_name(name))

    async def close(self) -> None:
        """End every subscription with ``CLOSED`` and release the store. Idempotent, never raises."""
        workers = Workers(1)
        closing = workers.run(self._engine.close)
        workers.close()
        # Shielded, because a store that is half closed helps nobody: it is closed even if the caller is cancelled.
        await asyncio.shield(asyncio.wrap_future(closing))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()


def _close_unwanted(opening: "Future[tuple[Backend, EngineOptions]]") -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result()[0].close()
