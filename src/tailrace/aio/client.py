"""``connect``, awaited: from a store URL to topics."""

import functools
from types import TracebackType
from typing import Self

from typing_extensions import Unpack

from tailrace import arguments
from tailrace.aio.topic import Topic
from tailrace.aio.waiting import closed, opened
from tailrace.facade import ClientFacade
from tailrace.opening import ConnectOptions, Engine, open_backend


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
    backend, engine_options = await opened(functools.partial(open_backend, url, options), lambda made: made[0].close())
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
        await closed(self._engine.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()
