"""A stream as a topic: its payloads in order, for everything that reads or writes a ``DurableStreamTopic``.

A record's payload is the payload of an item, byte for byte. What reaches the head counts as delivered.
"""

from collections.abc import Callable, Iterable

from typing_extensions import override

from tailrace import arguments
from tailrace.engine import Engine, Reader
from tailrace.errors import DurableStreamUnavailableError, TopicSealedError
from tailrace.protocols import DurableStreamProducer, DurableStreamTopic
from tailrace.records import Closed, DurableStreamRecord, TopicCursor
from tailrace.spi import Place
from tailrace.subscription import Subscription
from tailrace.workflow.documents import mark_of, payload_of
from tailrace.workflow.errors import (
    StreamClosedError,
    StreamErroredError,
    StreamFullError,
    StreamNotFoundError,
)
from tailrace.workflow.model import Mark, NewItem, Origin, StreamRef
from tailrace.workflow.service import Service

Note = Callable[[Mark], None]
"""Called with a record behind which there was nothing more just then."""


class StreamSubscription(Subscription):
    """One independent reader of one stream."""

    __slots__ = ("_note",)

    def __init__(self, reader: Reader, note: Note) -> None:
        super().__init__(reader)
        self._note = note

    @override
    def receive(self, timeout: float = 0.1) -> DurableStreamRecord | Closed | None:
        """Wait up to ``timeout`` seconds for the next record; see the contract."""
        record = super().receive(timeout)
        if not isinstance(record, DurableStreamRecord):
            return record
        if not self._ready:
            self._note(mark_of(record.payload))
        return DurableStreamRecord(payload_of(record.payload), record.cursor)


class StreamProducer(DurableStreamProducer):
    """The writing half of a stream. Thread-safe."""

    __slots__ = ("_service", "_stream")

    def __init__(self, service: Service, stream: StreamRef) -> None:
        self._service = service
        self._stream = stream

    @override
    def append(self, payload: bytes) -> None:
        """Append one item whose payload is JSON text; block until it is stored.

        Without a key: after an unknown outcome, whoever appends again may store it twice. Producers that retry use
        ``RunStreams.append`` with keys, or an emitter.

        Raises:
            InvalidTypeError: ``payload`` is not bytes.
            InvalidFieldsError: It is no JSON.
            TopicSealedError: The stream has ended, or expired.
            DurableStreamUnavailableError: Not stored (also for want of room), or unknown (``maybe_stored``).
        """
        self.append_many([payload])

    def append_many(self, payloads: Iterable[bytes]) -> None:
        """Append items contiguously and in order, all or none. No payloads, nothing done.

        Raises:
            As ``append``; and InvalidFieldsError for more than 500 payloads.
        """
        checked = arguments.payload_list(payloads)
        if not checked:
            return
        items = [NewItem(payload=payload, origin=Origin.EXTERNAL) for payload in checked]
        try:
            self._service.append(self._stream, items)
        except (StreamClosedError, StreamErroredError, StreamNotFoundError) as exc:
            raise TopicSealedError(str(exc)) from exc
        except StreamFullError as exc:
            raise DurableStreamUnavailableError(str(exc)) from exc

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._stream.name!r}>"


class StreamTopic(StreamProducer, DurableStreamTopic):
    """A stream that can be read from its beginning, its tail, or a cursor. Cheap to make; holds nothing open."""

    __slots__ = ("_engine", "_note")

    def __init__(self, service: Service, stream: StreamRef, engine: Engine, note: Note) -> None:
        super().__init__(service, stream)
        self._engine = engine
        self._note = note

    @override
    def as_producer(self) -> StreamProducer:
        """Return a view that can only append."""
        return StreamProducer(self._service, self._stream)

    @override
    def subscribe_from_beginning(self) -> StreamSubscription:
        """Subscribe from the first item; one that is still to come, if the stream was not opened yet.

        Raises:
            DurableStreamUnavailableError: The store is away.
        """
        return self._subscribe(self._engine.beginning(self._stream.topic))

    @override
    def subscribe_from_cursor(self, cursor: TopicCursor) -> StreamSubscription:
        """Subscribe strictly after a cursor of this stream.

        Raises:
            CursorUnavailableError: It is not one of this stream, or the stream has expired.
            DurableStreamUnavailableError: The store is away.
        """
        return self._subscribe(self._engine.resume(self._stream.topic, cursor))

    @override
    def subscribe_from_tail(self) -> StreamSubscription:
        """Subscribe strictly after the item that is the last one now.

        Raises:
            DurableStreamUnavailableError: The store is away.
        """
        return self._subscribe(self._engine.tail(self._stream.topic))

    def checkpoint(self) -> TopicCursor:
        """Return a cursor for the current tail.

        Raises:
            DurableStreamUnavailableError: The store is away.
        """
        topic = self._stream.topic
        return self._engine.codec(topic).encode(self._engine.tail(topic))

    def seal(self, *, error: str | None = None) -> None:
        """Close the stream, or end it as errored. Idempotent: the first end stands.

        Raises:
            StreamNotFoundError: It was never opened: there is nothing to end.
            DurableStreamUnavailableError: The store is away; sealing again is always safe.
        """
        self._service.end(self._stream, error_reason=error)

    def _subscribe(self, place: Place) -> StreamSubscription:
        return StreamSubscription(self._engine.open(self._stream.topic, place), self._note)
