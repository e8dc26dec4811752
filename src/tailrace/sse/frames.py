"""Events of one topic, sealed and encoded once for all who share tokens."""

from tailrace.facade import SubscriptionFacade
from tailrace.records import DurableStreamRecord, TopicCursor
from tailrace.sse import wire
from tailrace.tokens import TokenKind, Tokens

KEPT_BYTES = 2**20
"""Bytes of events that are kept for the next reader: a token costs more than the rest of an event together."""


class Frames:
    """Makes the events of one topic for readers of one audience and tenant. Of one event loop.

    Args:
        topic: Its name.
        tokens: Of the readers.
        text: Whether text may go as it is.
    """

    __slots__ = ("_kept", "_kept_bytes", "_text", "_tokens", "_topic")

    def __init__(self, topic: str, tokens: Tokens, *, text: bool = True) -> None:
        self._topic = topic
        self._tokens = tokens
        self._text = text
        self._kept: dict[TopicCursor, bytes] = {}
        self._kept_bytes = 0

    def event(self, record: DurableStreamRecord) -> bytes:
        """Return a record's event; of a recent one, the same bytes again."""
        frame = self._kept.get(record.cursor)
        if frame is None:
            frame = self.made(record)
            self._keep(record.cursor, frame)
        return frame

    def made(self, record: DurableStreamRecord) -> bytes:
        """Return a record's event, and keep nothing."""
        return wire.event(self._tokens.seal(self._topic, record.cursor), record.payload, text=self._text)

    def prime(self, cursor: TopicCursor, retry: float) -> bytes:
        """Return what comes first."""
        return wire.prime(self._tokens.seal(self._topic, cursor), retry)

    def ending(self, subscription: SubscriptionFacade) -> bytes | None:
        """Return the last event of a topic that was sealed; ``None`` if its subscription ended for another reason.

        Who comes back with its id is told to stay away.
        """
        end = subscription.end
        if end is None or end.kind == "closed" or end.exception is not None:
            return None
        return wire.end(self._tokens.seal(self._topic, subscription.cursor, kind=TokenKind.END), end.error)

    def gap(self, cursor: TopicCursor, reason: str) -> bytes:
        """Return the last event of a stream that lost records. Who comes back with its id is told to stay away."""
        return wire.gap(self._tokens.seal(self._topic, cursor, kind=TokenKind.GAP), reason)

    def _keep(self, cursor: TopicCursor, frame: bytes) -> None:
        self._kept[cursor] = frame
        self._kept_bytes += len(frame)
        while self._kept_bytes > KEPT_BYTES:
            oldest = next(iter(self._kept))
            self._kept_bytes -= len(self._kept.pop(oldest))
