"""``connect``: from a URL to topics that live messages go through."""

from types import TracebackType
from typing import Self

from typing_extensions import Unpack, override

from tailrace import arguments
from tailrace.broadcast import protocols
from tailrace.broadcast.hub import Hub
from tailrace.broadcast.opening import open_hub
from tailrace.broadcast.options import ConnectOptions
from tailrace.broadcast.topic import Topic


def connect(url: str, **options: Unpack[ConnectOptions]) -> "Channel":
    """Open a channel. Blocks on the server; starts no thread.

    Args:
        url: ``memory://`` (or ``memory://name``, shared in this process), or a Redis URL with its ``mode``:
            ``redis://localhost:6379/0?mode=pubsub``, ``sharded`` or ``streams``.
        options: See :class:`ConnectOptions`: ``overflow``, ``buffer_messages``, ``buffer_bytes``,
            ``publish_timeout``, ``confirm_timeout``, ``max_payload``.

    Raises:
        InvalidArgumentError: The URL or an option is wrong.
        BroadcastUnavailableError: The server is away, or can not be used; the message says what to do.
    """
    return Channel(open_hub(url, options))


class Channel(protocols.BroadcastChannel):
    """Topics of one place. Thread-safe; a forked child may go on using it and gets its own connections.

    However many subscriptions there are, a process listens over one connection (to each node, where there are several).
    """

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    @override
    def topic(self, name: str) -> Topic:
        return Topic(self._hub, arguments.topic_name(name))

    def stats(self) -> dict[str, int]:
        """Return counts and gauges of this channel, by name. Does not block on the server.

        ``subscriptions`` and ``topics`` are listened to now; ``published``, ``dropped`` (messages that full buffers
        had no place for) and ``lost`` (subscriptions whose connection was lost) are since it was opened.
        """
        return self._hub.stats()

    def close(self) -> None:
        """End every subscription with ``CLOSED``, and let go of the server. Idempotent, never raises."""
        self._hub.close()

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
        return f"<broadcast.Channel on {self._hub!r}>"
