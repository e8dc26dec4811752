"""Telling other processes which topics moved, through a few kilobytes of the gate file.

    magic 8 | begun 8 | rung 8 | ring of SLOTS fingerprints, 8 bytes each

``rung`` counts the slots ever written; slot n is at n modulo SLOTS. Hints only: a torn read costs a needless
look at the store. Writers hold the gate; readers only read, and need no more than that right.
"""

import hashlib
import os
from collections.abc import Collection
from dataclasses import dataclass
from struct import Struct

SLOTS = 512
"""Topic changes that a reader may be behind and still be told which topics they were."""

AT_ONCE = 64
"""Topics named by one commit; beyond it the ring says "anything"."""

_MAGIC = b"trbell1\n"
_HEAD = Struct("<8sQQ")
_COUNT = Struct("<Q")
_BEGUN_AT, _RUNG_AT = 8, 16
SIZE = _HEAD.size + SLOTS * 8


def fingerprint(topic: str) -> bytes:
    """Return the name's eight bytes in the ring. Two topics may share them: a needless look."""
    return hashlib.blake2b(topic.encode(), digest_size=8).digest()


class Bell:
    """The writing side. Used by whoever holds the gate.

    A writer marks what it is about to commit, and clears the mark by ringing. Whoever finds a mark that is not
    its own knows that the writer before it died in between, with or without having committed, and rings for it.
    """

    def __init__(self) -> None:
        self._rung = 0

    def begin(self, fd: int) -> None:
        """Mark, before the commit."""
        magic, begun, rung = _HEAD.unpack(os.pread(fd, _HEAD.size, 0).ljust(_HEAD.size, b"\0"))
        if magic != _MAGIC:
            os.pwrite(fd, _HEAD.pack(_MAGIC, 0, 0).ljust(SIZE, b"\0"), 0)
            begun = rung = 0
        if begun != rung:
            rung = max(begun, rung) + SLOTS
        self._rung = rung
        os.pwrite(fd, _COUNT.pack(rung + 1), _BEGUN_AT)

    def ring(self, fd: int, moved: Collection[str]) -> None:
        """Say which topics the commit changed.

        After the commit, never before it: a reader that was woken earlier could look, see nothing yet, and
        would not be woken again. Before the gate is released, so that nobody else writes the ring meanwhile.
        """
        if len(moved) > AT_ONCE:
            rung = self._rung + SLOTS
        else:
            rung = self._rung
            for topic in moved:
                os.pwrite(fd, fingerprint(topic), _HEAD.size + rung % SLOTS * 8)
                rung += 1
        os.pwrite(fd, _HEAD.pack(_MAGIC, rung, rung), 0)
        if moved:
            # What wakes: watchers wait for a change of the file's attributes, not of its contents, or every
            # commit would wake them once more for the mark that was made before it.
            os.utime(fd)


@dataclass(slots=True, frozen=True)
class Ring:
    """What a reader saw."""

    rung: int
    slots: bytes

    def since(self, seen: int) -> set[bytes] | None:
        """Return the fingerprints rung after ``seen``, or ``None`` when they can not be told."""
        if not 0 <= self.rung - seen <= SLOTS - AT_ONCE:
            # AT_ONCE less than the ring holds: a writer may be overwriting that many right now.
            return None
        at = (n % SLOTS * 8 for n in range(seen, self.rung))
        return {self.slots[i : i + 8] for i in at}


def look(fd: int) -> Ring | None:
    """Read the ring; ``None`` where nobody has written one yet."""
    raw = os.pread(fd, SIZE, 0)
    if len(raw) < SIZE or raw[:8] != _MAGIC:
        return None
    return Ring(_COUNT.unpack_from(raw, _RUNG_AT)[0], raw[_HEAD.size :])
