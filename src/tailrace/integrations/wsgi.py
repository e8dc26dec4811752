"""Server-Sent Events from a Flask or Django application: an iterable for each request, and what they share.

A WSGI server gives each stream a thread, or a greenlet: use gevent workers for more than some dozens. Needs the extra
``tokens``.
"""

import threading
from collections import Counter
from collections.abc import Iterator, Mapping

from tailrace.errors import (
    CursorUnavailableError,
    DurableStreamUnavailableError,
    InvalidArgumentError,
    InvalidTypeError,
)
from tailrace.integrations.pulled import writes
from tailrace.sse import StreamSettings
from tailrace.sse.frames import Frames
from tailrace.sse.serving import HEADERS, put_off
from tailrace.sse.streams import lifetime
from tailrace.subscription import Subscription
from tailrace.tokens import Opened, Tokens
from tailrace.topic import Topic


class EventStreams:
    """The event streams of one application process. Thread-safe, and good in forked children if made before.

    Your application decides who may read what, before it asks for events.

    Args:
        settings: Bounds and times; see :class:`StreamSettings`.
    """

    def __init__(self, settings: StreamSettings | None = None) -> None:
        self._settings = settings or StreamSettings()
        self._lock = threading.Lock()
        self._open: set[Events] = set()
        self._each: Counter[str] = Counter()
        self._draining = False

    @property
    def count(self) -> int:
        """How many streams there are."""
        return len(self._open)

    def events(
        self,
        environ: Mapping[str, object],
        topic: Topic,
        tokens: Tokens,
        *,
        start: str = "tail",
        cursor: str | None = None,
        base64: bool = False,
        whose: str = "",
        expires_at: float | None = None,
    ) -> "Events":
        """Return status, headers and body of a response that streams a topic to this client. Blocks on the store.

        A client that comes back sends the id that it saw last (``Last-Event-ID``), which beats the others.

        Args:
            environ: Of the request, as PEP 3333 has it.
            topic: The topic.
            tokens: Seals and opens ids.
            start: ``"beginning"`` or ``"tail"``: for a client that has no token.
            cursor: A token that the client was given, in the address of the stream for one.
            base64: Whether all payloads go as base64, and not only those that are no text.
            whose: Name that ``max_streams_each`` is counted by.
            expires_at: Seconds since the epoch at which the stream ends, to be resumed with another credential.

        Raises:
            InvalidTokenError: What the client came with is not a token of this topic: answer 400.
            InvalidArgumentError: ``start`` is neither of the two.
        """
        if not isinstance(topic, Topic):
            raise InvalidTypeError(f"topic must be a tailrace.Topic, not {type(topic).__name__}")
        token = environ.get("HTTP_LAST_EVENT_ID") or cursor
        opened = None if token is None else tokens.open(topic.name, token)
        if opened is None and start not in ("beginning", "tail"):
            raise InvalidArgumentError("start must be beginning or tail; a token goes into cursor")
        if opened is not None and opened.terminal:
            return Events(self, whose, "204 No Content", iter(()))
        if environ.get("REQUEST_METHOD") == "HEAD":
            # Servers iterate all the same, write nothing, and so never find out that the client has gone.
            return Events(self, whose, "200 OK", iter(()))
        frames = Frames(topic.name, tokens, text=not base64)
        try:
            subscription = _subscribed(topic, start, opened)
        except CursorUnavailableError as error:
            assert opened is not None
            return Events(self, whose, "200 OK", iter((frames.gap(opened.cursor, str(error)),)))
        except DurableStreamUnavailableError:
            subscription = None
        later = put_off(topic.name, tokens, opened or "tail")
        if subscription is None:
            return Events(self, whose, "200 OK", iter((later,)))
        body = writes(frames, subscription, self._settings, lifetime(self._settings, tokens, expires_at))
        return self._admitted(subscription, body, whose) or Events(self, whose, "200 OK", iter((later,)))

    def drain(self) -> None:
        """End every stream for its client to come back, and begin no more. Idempotent, from any thread."""
        with self._lock:
            self._draining = True
            streams = list(self._open)
        for stream in streams:
            stream.stop()

    def _admitted(self, subscription: Subscription, body: Iterator[bytes], whose: str) -> "Events | None":
        settings = self._settings
        with self._lock:
            full = len(self._open) >= settings.max_streams or self._each[whose] >= settings.max_streams_each
            if not (self._draining or full):
                events = Events(self, whose, "200 OK", body, subscription)
                self._open.add(events)
                self._each[whose] += 1
                return events
        subscription.close()
        return None

    def _left(self, events: "Events") -> None:
        with self._lock:
            if events in self._open:
                self._open.discard(events)
                self._each[events.whose] -= 1
                if not self._each[events.whose]:
                    del self._each[events.whose]


class Events(Iterator[bytes]):
    """A response: ``status`` and ``headers`` for ``start_response``, and itself the body. Of one thread.

    The server, or ``response.call_on_close`` of a framework that wraps it, must call ``close``.

    Attributes:
        status: As in ``"200 OK"``.
        headers: Names and values.
        whose: Name that bounds are counted by.
    """

    def __init__(
        self,
        streams: EventStreams,
        whose: str,
        status: str,
        body: Iterator[bytes],
        subscription: Subscription | None = None,
    ) -> None:
        self.status = status
        self.headers = [(name.decode().title(), value.decode()) for name, value in HEADERS]
        self.whose = whose
        self._streams = streams
        self._body = body
        self._subscription = subscription

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        """Return the next write; wait for it, at most for the time of a heartbeat."""
        try:
            return next(self._body)
        except BaseException:
            self.close()
            raise

    def stop(self) -> None:
        """End the stream soon, for its client to come back. Any thread."""
        if self._subscription is not None:
            self._subscription.close()

    def close(self) -> None:
        """Release everything. Idempotent; in the thread that iterates, or after it."""
        self.stop()
        self._streams._left(self)


def _subscribed(topic: Topic, start: str, opened: Opened | None) -> Subscription:
    if opened is not None:
        return topic.subscribe_from_cursor(opened.cursor)
    return topic.subscribe_from_beginning() if start == "beginning" else topic.subscribe_from_tail()
