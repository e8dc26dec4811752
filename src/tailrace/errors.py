"""Every error that crosses the public boundary, and nothing else.

    DurableStreamError
    ├── CursorUnavailableError            the place to go on from is gone or was never one
    ├── DurableStreamUnavailableError     the store, or this handle, can not go on
    │   ├── TopicSealedError              append to a topic that was sealed
    │   └── StoreUnusableError            waiting will not help: fix the store or its settings
    ├── InvalidTokenError                 a resume token that is not good here, for whatever reason
    ├── KeyRingError                      the keys of resume tokens can not be used as they are
    └── InvalidArgumentError              (also ValueError) the call itself is wrong
        ├── InvalidTypeError              (also TypeError)
        ├── InvalidTopicNameError
        └── PayloadTooLargeError

Messages never contain payloads, cursors, tokens or keys.
"""

import functools


class DurableStreamError(Exception):
    """Base of every error that Tailrace raises on purpose."""


class CursorUnavailableError(DurableStreamError):
    """The requested or current place in the stream can not be resolved.

    Raised when a cursor is malformed, belongs to another topic, or points into a history that was
    trimmed, deleted, replaced or restored. Records may be missing between that place and the earliest
    one now retained. Decide what that means for your application (usually: reload a snapshot), then
    subscribe again from the beginning or from the tail.
    """


class DurableStreamUnavailableError(DurableStreamError):
    """The store, or this handle, can not go on.

    Attributes:
        maybe_stored: Only of interest for appends. ``False``: the record was certainly not stored and
            a plain retry is safe. ``True``: the outcome is unknown and a retry may duplicate it.
    """

    def __init__(self, message: str, *, maybe_stored: bool = False) -> None:
        super().__init__(message)
        self.maybe_stored = maybe_stored


class TopicSealedError(DurableStreamUnavailableError):
    """The topic is sealed: no append can ever succeed on it again. The record was not stored."""


class StoreUnusableError(DurableStreamUnavailableError):
    """The store can not be used as it is configured, and waiting will not change that.

    Not a database, written by a newer release, read-only, out of space, a missing driver: the message
    names the cause and what to do. Operations that ride out an outage do not ride out this one.
    """


class InvalidTokenError(DurableStreamError):
    """A resume token is not good here, and nothing says why: whoever probes with tokens learns nothing.

    Damaged, somebody else's, expired, of a key that is retired or unknown, or no token at all. Start anew, as
    a reader does who has none. A token that is authentic and points into a history that is gone is not told
    like this: its cursor raises ``CursorUnavailableError``.
    """


class KeyRingError(DurableStreamError):
    """The keys of resume tokens can not be used as they are: the message says what is wrong with which line or file."""


class InvalidArgumentError(DurableStreamError, ValueError):
    """An argument has a value that no store could accept. Nothing was done."""


class InvalidTypeError(InvalidArgumentError, TypeError):
    """An argument has the wrong type. Nothing was done."""


class InvalidTopicNameError(InvalidArgumentError):
    """A topic name is empty, too long, or holds a NUL or a lone surrogate."""


class PayloadTooLargeError(InvalidArgumentError):
    """A payload is larger than the store or the configured limit allows. Nothing was sent.

    Attributes:
        size: Bytes in the payload.
        limit: Bytes allowed.
    """

    def __init__(self, size: int, limit: int, *, named: str) -> None:
        super().__init__(f"payload of {size} bytes is over the limit of {limit} bytes ({named})")
        self.size = size
        self.limit = limit
        self._named = named

    def __reduce__(self) -> tuple[object, ...]:
        # Errors travel between processes; the default would call __init__ with the message.
        return functools.partial(type(self), named=self._named), (self.size, self.limit)
