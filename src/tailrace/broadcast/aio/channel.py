"""``connect``, awaited: from a URL to topics that live messages go through."""

import functools
from types import TracebackType
from typing import Self

from typing_extensions import Unpack

from tailrace import arguments
from tailrace.aio.waiting import closed, opened
from tailrace.broadcast.aio.topic import Topic
from tailrace.broadcast.hub import Hub
from tailrace.broadcast.opening import open_hub
from tailrace.broadcast.options import ConnectOptions


async def connect(url: str, **options: Unpack[ConnectOptions]) -> "Channel":
    """Open a channel; see the blocking one for the URL, the options and what it raises. Waits for the server."""
    return Channel(await opened(functools.partial(open_hub, url, options), Hub.close))


class Channel:
    """Topics of one place. May be used from several loops; a forked child gets its own connections."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def topic(self, name: str) -> Topic:
        """Return a topic by name. Does no I/O and creates nothing.

        Raises:
            InvalidTopicNameError: No channel could have that name.
        """
        return Topic(self._hub, arguments.topic_name(name))

    def stats(self) -> dict[str, int]:
        """Return counts and gauges of this channel, by name; see the blocking one."""
        return self._hub.stats()

    async def close(self) -> None:
        """End every subscription with ``CLOSED``, and let go of the server. Idempotent, never raises."""
        await closed(self._hub.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<broadcast.aio.Channel on {self._hub!r}>"
