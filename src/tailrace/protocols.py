"""The durable-stream contract as Protocols: what code that uses topics should depend on.

Names, signatures and meanings are fixed by the public proposal; ``docs/contract.md`` has every rule.
"""

from contextlib import AbstractContextManager
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from tailrace.records import Closed, DurableStreamRecord, TopicCursor


@runtime_checkable
class DurableStreamSubscription(AbstractContextManager["DurableStreamSubscription"], Protocol):
    """One independent reader of one topic, from a start that was fixed when it was made.

    One-shot: entered at most once. Only ``close`` may be called from other threads.
    """

    def __enter__(self) -> Self:
        """Start delivery strictly after the fixed boundary; never move it.

        Returns:
            This subscription.

        Raises:
            CursorUnavailableError: The boundary can no longer be resolved. The subscription is closed.
            DurableStreamUnavailableError: The store is away, or this subscription was entered or closed before.
        """
        ...

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        """Close. Never swallows the exception of the block."""
        ...

    def receive(self, timeout: float = 0.1) -> DurableStreamRecord | Closed | None:
        """Wait up to ``timeout`` seconds for the next record.

        Blocks the calling thread (or greenlet). Not for concurrent calls on one subscription.

        Args:
            timeout: Seconds; 0 asks without waiting.

        Returns:
            The next record; ``None`` if this call timed out; ``CLOSED`` for good after the end.

        Raises:
            CursorUnavailableError: Records after the last one returned were removed before they were read.
            DurableStreamUnavailableError: The subscription can not go on, or was never entered.
                After either error every later call returns ``CLOSED``.
        """
        ...

    def close(self) -> None:
        """End this subscription. Idempotent, never raises, callable from any thread.

        A ``receive`` that waits returns ``CLOSED`` within 100 ms, as do all later ones.
        """
        ...


@runtime_checkable
class DurableStreamProducer(Protocol):
    """The writing half of a topic. Thread-safe."""

    def append(self, payload: bytes) -> None:
        """Append one record; blocks until the store has accepted it.

        Args:
            payload: Any bytes, returned unchanged to every reader; may be empty.

        Raises:
            DurableStreamUnavailableError: It was not, or may not have been, accepted (``maybe_stored``).
                A retry after an unknown outcome may duplicate.
        """
        ...


@runtime_checkable
class DurableStreamTopic(DurableStreamProducer, Protocol):
    """A named, ordered, append-only sequence of records. Thread-safe."""

    def as_producer(self) -> DurableStreamProducer:
        """Return a view that can only append."""
        ...

    def subscribe_from_beginning(self) -> DurableStreamSubscription:
        """Subscribe from the earliest record that is retained now, inclusive."""
        ...

    def subscribe_from_cursor(self, cursor: TopicCursor) -> DurableStreamSubscription:
        """Subscribe strictly after a cursor of this topic.

        Raises:
            CursorUnavailableError: It is missing, malformed, another topic's, or already gone.
        """
        ...

    def subscribe_from_tail(self) -> DurableStreamSubscription:
        """Subscribe strictly after the record that is the last one now."""
        ...

    def seal(self) -> None:
        """End the topic for good. Idempotent. Subscriptions drain what is retained, then get ``CLOSED``."""
        ...
