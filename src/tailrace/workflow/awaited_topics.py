"""A stream as an awaited topic of documents: what Server-Sent Events are made of."""

from collections.abc import Callable

from typing_extensions import override

from tailrace import aio
from tailrace.aio.waiting import run
from tailrace.engine import Engine, Reader
from tailrace.records import Closed, DurableStreamRecord, TopicCursor
from tailrace.spi import Boundary, Place
from tailrace.workflow.documents import mark_of
from tailrace.workflow.topics import Note


class DocumentSubscription(aio.Subscription):
    """One reader of one stream; its records are documents of items."""

    __slots__ = ("_note",)

    def __init__(self, reader: Reader, note: Note) -> None:
        super().__init__(reader)
        self._note = note

    @override
    async def receive(self, timeout: float = 0.1) -> DurableStreamRecord | Closed | None:
        """Wait up to ``timeout`` seconds for the next record; see the contract."""
        record = await super().receive(timeout)
        if isinstance(record, DurableStreamRecord) and not self._ready:
            self._note(mark_of(record.payload))
        return record


class DocumentTopic(aio.Topic):
    """A stream to be read; it is changed through its run.

    Args:
        name: The ``topic`` of a ``StreamRef``.
    """

    __slots__ = ("_note",)

    def __init__(self, engine: Engine, name: str, note: Note) -> None:
        super().__init__(engine, name)
        self._note = note

    async def cursor_before(self, place: Callable[[], Boundary]) -> TopicCursor:
        """Return the cursor of a place that is asked of the store. Waits for it."""
        return self._engine.codec(self._name).encode(await run(self._engine, place))

    @override
    async def _subscribe(self, start: Callable[[], Place]) -> DocumentSubscription:
        return DocumentSubscription(self._engine.open(self._name, await run(self._engine, start)), self._note)
