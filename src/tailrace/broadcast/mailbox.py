"""What waits for one subscription: bounded by count and bytes, with a policy for what does not fit. Pure; no lock."""

import itertools
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

    __slots__ = ("_bytes", "_leaving", "_messages", "_most", "_overflow", "_size", "_taken", "dropped")

    def __init__(self, messages: int, size: int, overflow: Overflow) -> None:
        self._messages: deque[bytes] = deque()
        self._leaving = iter(self._messages.popleft, object())
        self._taken: deque[bytes] = deque(maxlen=1)
        self._bytes = 0
        self._most, self._size = messages, size
        self._overflow = overflow
        self.dropped = 0

    def put(self, payload: bytes) -> bool:
        """Take a message, dropping what the policy says; return whether the subscription may go on."""
        while self._messages and self._full(payload):
            if self._overflow is Overflow.DROP_OLDEST:
                self._bytes -= len(self._messages.popleft())
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
        # In one step of the interpreter, so that whoever is interrupted can put it back, and knows whether to.
        self._taken.extend(itertools.islice(self._leaving, 1))
        payload = self._taken[0]
        self._bytes -= len(payload)
        return payload

    def keep_taken(self) -> None:
        """Note that what was taken has been returned."""
        self._taken.clear()

    def put_back(self) -> None:
        """Take back what was taken since then: whoever asked was interrupted, and may not have it."""
        self._messages.extendleft(self._taken)
        self._taken.clear()
        self._bytes = sum(map(len, self._messages))

    def clear(self) -> None:
        """Forget what waits; that is not counted."""
        self._messages.clear()
        self._taken.clear()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._messages)

    def _full(self, payload: bytes) -> bool:
        return len(self._messages) >= self._most or self._bytes + len(payload) > self._size
