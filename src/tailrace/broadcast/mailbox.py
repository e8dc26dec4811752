"""What waits for one subscription: bounded by count and bytes, with a policy for what does not fit. Pure; no lock."""

from collections import deque

from tailrace.broadcast.options import Overflow


class Mailbox:
    """Messages in order.

    Args:
        messages: At most so many.
        size: At most so many bytes; a single larger message still fits.
        overflow: What is dropped when it is full.

    Attributes:
        dropped: How many were.
    """

    __slots__ = ("_bytes", "_messages", "_most", "_overflow", "_size", "dropped")

    def __init__(self, messages: int, size: int, overflow: Overflow) -> None:
        self._messages: deque[bytes] = deque()
        self._bytes = 0
        self._most, self._size = messages, size
        self._overflow = overflow
        self.dropped = 0

    def put(self, payload: bytes) -> bool:
        """Take a message, dropping what the policy says; return whether the subscription may go on."""
        while self._messages and self._full(payload):
            if self._overflow is Overflow.DROP_OLDEST:
                self.take()
                self.dropped += 1
            else:
                return self.miss(1)
        self._messages.append(payload)
        self._bytes += len(payload)
        return True

    def miss(self, count: int) -> bool:
        """Count messages that never got here; return whether the subscription may go on."""
        self.dropped += count
        return self._overflow is not Overflow.ERROR

    def take(self) -> bytes | None:
        """Return the next message; ``None`` if there is none."""
        if not self._messages:
            return None
        payload = self._messages.popleft()
        self._bytes -= len(payload)
        return payload

    def clear(self) -> None:
        """Forget what waits; that is not counted."""
        self._messages.clear()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._messages)

    def _full(self, payload: bytes) -> bool:
        return len(self._messages) >= self._most or self._bytes + len(payload) > self._size
