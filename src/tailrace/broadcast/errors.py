"""Every error of the broadcast channel.

    BroadcastError
    ├── BroadcastUnavailableError     the channel, or this subscription, can not go on
    └── BroadcastOverflowError        this subscription was too slow, and asked to be told

An argument that is wrong raises ``tailrace.InvalidArgumentError``, here as everywhere. Messages never contain payloads.
"""


class BroadcastError(Exception):
    """Base of what a broadcast channel raises on purpose. No error of the durable stream is one."""


class BroadcastUnavailableError(BroadcastError):
    """The channel, or this subscription, can not go on: the server is away, or its connection was lost.

    What was published meanwhile is gone, and nobody knows how much: read the state from where it is kept, and
    subscribe anew.

    Attributes:
        maybe_published: Only of interest for ``publish``. ``False``: certainly not. ``True``: unknown, and a retry may
            double it.
    """

    def __init__(self, message: str, *, maybe_published: bool = False) -> None:
        super().__init__(message)
        self.maybe_published = maybe_published


class BroadcastOverflowError(BroadcastError):
    """Messages were dropped, and ``Overflow.ERROR`` asked to be told. What came before them was returned.

    Attributes:
        dropped: How many were known to be dropped when the subscription ended.
    """

    def __init__(self, message: str, dropped: int = 0) -> None:
        super().__init__(message)
        self.dropped = dropped
