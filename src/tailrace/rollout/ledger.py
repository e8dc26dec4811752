"""Which events came one way and are still to come the other: counted by their bytes, since live messages have no names.

Equal events are told apart by their number only.
"""

import hashlib
import math
import time
from collections import Counter


class Ledger:
    """A multiset of payloads, as digests. Not thread-safe.

    Attributes:
        until: When what is open is forgotten, by ``time.monotonic()``: whoever appended that did not live to publish
            it, and an equal event that comes later is another one.
    """

    def __init__(self) -> None:
        self._open: Counter[bytes] = Counter()
        self.until = math.inf

    def note(self, payload: bytes) -> None:
        """Note that one has come, and is to come once more."""
        self._open[_digest(payload)] += 1

    def settle(self, payload: bytes) -> bool:
        """Return whether one was to come, and strike it off."""
        if not self._open:
            return False
        if time.monotonic() > self.until:
            self._open.clear()
            return False
        digest = _digest(payload)
        left = self._open[digest]
        if left > 1:
            self._open[digest] = left - 1
        else:
            del self._open[digest]
        return left > 0

    def __len__(self) -> int:
        return self._open.total()


def _digest(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=16).digest()
