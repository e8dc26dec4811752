"""Telling other processes which topics moved, through a few kilobytes of the gate file.

    wish 8 | magic 8 | rung 8 | ring of SLOTS fingerprints, 8 bytes each

``rung`` counts the slots ever written; slot n is at n modulo SLOTS. ``wish`` belongs to the gate. Hints only: a torn
read costs a needless look at the store. Writers hold the gate; readers only read, and need no more than that right.
"""

import functools
import hashlib
import os
import time
from collections.abc import Collection
from dataclasses import dataclass
from struct import Struct

SLOTS = 512
"""Topic changes that a reader may be behind and still be told which topics they were."""

AT_ONCE = 64
"""Topics named by one commit; beyond it the ring says "anything"."""

_MAGIC = b"trbell1\n"
_WISH = Struct("<Q")
_HEAD = Struct("<8sQ")
_RING_AT = _WISH.size + _HEAD.size
SIZE = _RING_AT + SLOTS * 8


@functools.lru_cache(4096)
def fingerprint(topic: str) -> bytes:
    """Return the name's eight bytes in the ring. Two topics may share them: a needless look."""
    return hashlib.blake2b(topic.encode(), digest_size=8).digest()


def ring(fd: int, moved: Collection[str]) -> int:
    """Say which topics a commit changed, and return when somebody last wished for the gate.

    Called after the commit, never before it: a reader that was woken earlier could look, see nothing yet, and would
    not be woken again. Called before the gate is released, so that nobody else writes the ring meanwhile.
    """
    image = bytearray(os.pread(fd, SIZE, 0).ljust(SIZE, b"\0"))
    magic, rung = _HEAD.unpack_from(image, _WISH.size)
    if magic != _MAGIC:
        rung = 0
    if len(moved) > AT_ONCE:
        rung += SLOTS
    else:
        for topic in moved:
            at = _RING_AT + rung % SLOTS * 8
            image[at : at + 8] = fingerprint(topic)
            rung += 1
    # What stood there may be garbage at the top of the range; a commit that is stored must not fail for its bell.
    _HEAD.pack_into(image, _WISH.size, _MAGIC, rung % 2**64)
    # One write, so that watchers wake once; without the wish, which somebody may be writing right now.
    os.pwrite(fd, memoryview(image)[_WISH.size :], _WISH.size)
    return int(_WISH.unpack_from(image)[0])


def wish(fd: int) -> None:
    """Leave word that somebody is waiting for the gate."""
    os.pwrite(fd, _WISH.pack(time.monotonic_ns()), 0)


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
    if len(raw) < SIZE or raw[_WISH.size : _WISH.size + 8] != _MAGIC:
        return None
    return Ring(_HEAD.unpack_from(raw, _WISH.size)[1], raw[_RING_AT:])
