"""A stream as a topic, for coroutines: its payloads in order."""

import functools
from collections.abc import Callable, Iterable

from typing_extensions import override

from tailrace.aio.topic import Producer
from tailrace.aio.waiting import run
from tailrace.records import Closed, DurableStreamRecord
from tailrace.spi import Place
from tailrace.workflow.awaited_topics import DocumentSubscription, DocumentTopic
from tailrace.workflow.documents import payload_of
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.model import StreamRef


class StreamSubscription(DocumentSubscription):
    """One reader of one stream; its records are payloads of items."""

    __slots__ = ()

    @override
    async def receive(self, timeout: float = 0.1) -> DurableStreamRecord | Closed | None:
        """Wait up to ``timeout`` seconds for the next record; see the contract."""
        record = await super().receive(timeout)
        if not isinstance(record, DurableStreamRecord):
            return record
        return DurableStreamRecord(payload_of(record.payload), record.cursor)


class StreamProducer(Producer):
    """The writing half of a stream. May be used from several loops."""

    __slots__ = ("_service", "_stream")

    def __init__(self, service: EmbeddedService, stream: StreamRef) -> None:
        super().__init__(service.engine, stream.topic)
        self._service = service
        self._stream = stream

    @override
    async def append(self, payload: bytes) -> None:
        """Append one item whose payload is JSON text; wait until it is stored. Without a key.

        Raises:
            As ``tailrace.workflow.topics.StreamProducer.append``.
        """
        await self.append_many([payload])

    @override
    async def append_many(self, payloads: Iterable[bytes]) -> None:
        """Append items contiguously and in order, all or none. No payloads, nothing done.

        Raises:
            As ``append``; and InvalidFieldsError for more than 500 payloads.
        """
        topic = self._service.topic(self._stream)
        await self._service.run(functools.partial(topic.append_many, payloads))


class StreamTopic(DocumentTopic):
    """A stream that can be read from its beginning, its tail, or a cursor. Cheap to make; holds nothing open."""

    __slots__ = ("_producer", "_service", "_stream")

    def __init__(self, service: EmbeddedService, stream: StreamRef) -> None:
        super().__init__(service.engine, stream.topic, service.note_of(stream))
        self._service = service
        self._stream = stream
        self._producer = StreamProducer(service, stream)

    @override
    def as_producer(self) -> StreamProducer:
        """Return a view that can only append."""
        return self._producer

    @override
    async def append(self, payload: bytes) -> None:
        """Append one item whose payload is JSON text; wait until it is stored. Without a key.

        Raises:
            As ``tailrace.workflow.topics.StreamProducer.append``.
        """
        await self._producer.append(payload)

    @override
    async def append_many(self, payloads: Iterable[bytes]) -> None:
        """Append items contiguously and in order, all or none. No payloads, nothing done.

        Raises:
            As ``append``; and InvalidFieldsError for more than 500 payloads.
        """
        await self._producer.append_many(payloads)

    @override
    async def seal(self, *, error: str | None = None) -> None:
        """Close the stream, or end it as errored. Idempotent: the first end stands.

        Raises:
            StreamNotFoundError: It was never opened: there is nothing to end.
            DurableStreamUnavailableError: The store is away; sealing again is always safe.
        """
        topic = self._service.topic(self._stream)
        await self._service.run(functools.partial(topic.seal, error=error))

    @override
    async def _subscribe(self, start: Callable[[], Place]) -> StreamSubscription:
        return StreamSubscription(self._engine.open(self._name, await run(self._engine, start)), self._note)
