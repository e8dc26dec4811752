"""Live delivery as Protocols: what code that broadcasts should depend on.

Whoever listens gets what is published from then on; nothing is kept for those who do not, and nothing can be resumed.
The durable stream is another abstraction: neither is the other, and none of these names is one of its.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from tailrace import arguments
from tailrace.records import CLOSED, Closed


@runtime_checkable
class Subscription(AbstractContextManager["Subscription"], Protocol):
    """One independent listener to one topic. One-shot: entered at most once.

    Only ``close`` may be called from other threads. Whoever derives from it has its iteration and its exit.
    """

    def __enter__(self) -> Self:
        """Begin to listen. Returns once that is confirmed: what is published from then on arrives.

        Raises:
            BroadcastUnavailableError: It can not be confirmed, or this subscription was entered or closed before.
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
        self.close()

    def __iter__(self) -> Iterator[bytes]:
        """Return what waits for each message, and ends when the subscription is closed.

        Raises:
            BroadcastError: As ``receive``.
        """
        while (message := self.receive(arguments.FOREVER)) is not CLOSED:
            if isinstance(message, bytes):
                yield message

    def receive(self, timeout: float = 0.1) -> bytes | Closed | None:
        """Wait up to ``timeout`` seconds for the next message. Blocks; not for concurrent calls on one subscription.

        Args:
            timeout: Seconds; 0 asks without waiting.

        Returns:
            The message; ``None`` if this call timed out; ``CLOSED`` for good after the end.

        Raises:
            BroadcastUnavailableError: Messages may be missing from here on: the connection was lost. Or it was never
                entered.
            BroadcastOverflowError: Messages were dropped, and the policy is to be told.
                After either error every later call returns ``CLOSED``.
        """
        ...

    def close(self) -> None:
        """End this subscription. Idempotent, never raises, from any thread; publishes and stores nothing.

        A ``receive`` that waits returns ``CLOSED`` within 100 ms, as do all later ones.
        """
        ...

    @property
    def dropped(self) -> int:
        """How many messages of this subscription are known to have been dropped."""
        ...


@runtime_checkable
class Producer(Protocol):
    """The sending half of a topic. Thread-safe."""

    def publish(self, payload: bytes) -> None:
        """Send one message to whoever listens now; blocks until the channel has taken it. Nobody needs to listen.

        Args:
            payload: Any bytes, which arrive unchanged; may be empty.

        Raises:
            BroadcastUnavailableError: It was not, or may not have been (``maybe_published``), sent. A retry after that
                may double it.
        """
        ...


@runtime_checkable
class Subscriber(Protocol):
    """The listening half of a topic. Thread-safe."""

    def subscribe(self) -> Subscription:
        """Return a subscription; enter it to listen.

        Where messages are kept for a while (Redis Streams), the place after which it listens is fixed before this
        returns, and entering does not move it. Blocks for that only.

        Raises:
            BroadcastUnavailableError: The place can not be found out.
        """
        ...

    def prepare(self) -> Subscription:
        """Return a subscription that already misses nothing, on every kind of channel; enter it for delivery.

        For work that is dispatched before its listener is ready: prepare, dispatch, enter. Close it if it is not
        entered: it may listen, and buffer as much as an entered one, until then. Blocks.

        Raises:
            BroadcastUnavailableError: That can not be confirmed.
        """
        ...


@runtime_checkable
class Topic(Producer, Subscriber, Protocol):
    """A name that messages go to and come from. Cheap to make; holds nothing open. Thread-safe."""

    def as_producer(self) -> Producer:
        """Return a view that can only publish."""
        ...

    def as_subscriber(self) -> Subscriber:
        """Return a view that can only subscribe."""
        ...


@runtime_checkable
class BroadcastChannel(Protocol):
    """Topics of one place. Thread-safe."""

    def topic(self, name: str) -> Topic:
        """Return a topic by name. Does no I/O and creates nothing.

        Raises:
            InvalidTopicNameError: No channel could have that name.
        """
        ...
