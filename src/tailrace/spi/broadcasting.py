"""What a store implements that can also carry live messages. Nothing here is kept for anybody: see ``broadcast``.

A carrier publishes, and opens lines. A line is one process's listening, whatever the number of topics and of those who
listen to them; what happens on it is told to one listener, in order, by a thread of the line's own.
"""

from typing import NamedTuple, Protocol

from tailrace.errors import DurableStreamUnavailableError


class Mark(NamedTuple):
    """A place among the messages of a topic, on carriers that keep messages for a while.

    Attributes:
        place: Grows with every message.
        number: Grows by one with every message, and starts anew if the topic does: a gap is a message that is gone.
    """

    place: tuple[int, int]
    number: int


class Listener(Protocol):
    """Who is told what happens on a line. Nothing here raises or blocks."""

    def joined(self, topic: str) -> None:
        """Note that the oldest unanswered ``follow`` of a topic holds: whatever is published from now on is heard."""
        ...

    def heard(self, topic: str, payload: bytes, mark: Mark | None) -> None:
        """Take a message."""
        ...

    def lost(self, topic: str | None, error: DurableStreamUnavailableError) -> None:
        """Note that a topic, or the whole line (``None``), is heard no more, and that messages may be missing."""
        ...


class Line(Protocol):
    """One process's listening. Thread-safe; nothing here waits for the store, raises, or calls the listener."""

    def follow(self, topic: str, start: Mark | None) -> bool:
        """Begin to listen to a topic, which may be listened to already; return whether that holds at once.

        Otherwise the listener is told, once for each call and in their order.

        Args:
            start: Strictly after which messages are told, where the carrier keeps them. Those that were told before
                may be told again.
        """
        ...

    def leave(self, topic: str) -> None:
        """Listen to a topic no more. It may be followed again later."""
        ...

    def close(self) -> None:
        """End it. The listener is told nothing more. Idempotent."""
        ...

    def disown(self) -> None:
        """In a child process: let go of what is the parent's."""
        ...


class Carrier(Protocol):
    """Live delivery on one store. Thread-safe; a forked child gets its own connections.

    Attributes:
        name: For messages.
    """

    name: str

    def publish(self, topic: str, payload: bytes, timeout: float) -> None:
        """Send a message to whoever listens; never twice. Blocks until the store has taken it.

        Raises:
            DurableStreamUnavailableError: It was not, or may not have been (``maybe_stored``), taken.
        """
        ...

    def tail(self, topic: str, timeout: float) -> Mark | None:
        """Return the place of the last message; ``None``, at once, where messages are not kept. Writes nothing.

        Raises:
            DurableStreamUnavailableError: The store is away.
        """
        ...

    def open(self, listener: Listener) -> Line:
        """Open a line, without waiting for the store."""
        ...

    def close(self) -> None:
        """Let go of everything. Idempotent, never raises."""
        ...
