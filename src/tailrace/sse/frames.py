"""Events of one topic, sealed and encoded once for all who share tokens."""

import math
import time
from typing import NamedTuple

from tailrace.facade import SubscriptionFacade
from tailrace.records import DurableStreamRecord, TopicCursor
from tailrace.sse import wire
from tailrace.tokens import TokenKind, Tokens

KEPT_BYTES = 2**20
"""Bytes of events that are kept for the next reader: a token costs more than the rest of an event together."""


FRESH = 0.25
"""Share of a token's lifetime for which it is handed out again: who gets it then can still rest on it for a while."""


class _Kept(NamedTuple):
    body: bytes
    at: float


class Frames:
    """Makes the events of one topic for readers of one audience and tenant. Of one event loop.

    Args:
        topic: Its name.
        tokens: Of the readers.
        text: Whether text may go as it is.
    """

    __slots__ = ("_fresh_for", "_kept", "_kept_bytes", "_text", "_tokens", "_topic")

    def __init__(self, topic: str, tokens: Tokens, *, text: bool = True) -> None:
        self._topic = topic
        self._tokens = tokens
        self._text = text
        self._fresh_for = math.inf if tokens.lifetime is None else tokens.lifetime * FRESH
        self._kept: dict[TopicCursor, _Kept] = {}
        self._kept_bytes = 0

    def event(self, record: DurableStreamRecord) -> bytes:
        """Return a record's event; of a recent one, the same bytes again."""
        kept = self._kept.get(record.cursor)
        if kept is not None and time.monotonic() - kept.at < self._fresh_for:
            return kept.body
        frame = self.made(record)
        self._keep(record.cursor, frame)
        return frame

    def made(self, record: DurableStreamRecord) -> bytes:
        """Return a record's event, and keep nothing."""
        return wire.event(self._tokens.seal(self._topic, record.cursor), record.payload, text=self._text)

    def prime(self, cursor: TopicCursor, retry: float) -> bytes:
        """Return what comes first; and last, where the client is to come back: an id of long ago may have expired."""
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
        self._forget(cursor)
        self._kept[cursor] = _Kept(frame, time.monotonic())
        self._kept_bytes += len(frame)
        while self._kept_bytes > KEPT_BYTES:
            self._forget(next(iter(self._kept)))

    def _forget(self, cursor: TopicCursor) -> None:
        kept = self._kept.pop(cursor, None)
        if kept is not None:
            self._kept_bytes -= len(kept.body)
