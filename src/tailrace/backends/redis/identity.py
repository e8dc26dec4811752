"""What the identity hash of a topic says. Pure.

    i incarnation   n, l  sequence and low of the last record   b, a  of the horizon   s  seal
    z payload bytes retained   m  the largest payload ever   o  time of the oldest record   g  the last deleted life

A *low* is the second half of an entry id, a decimal number: milliseconds since ``EPOCH_MS`` by the server's clock, and
seven random digits. Its remainder modulo 2**32 is the commit's tag.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tailrace.errors import StoreUnusableError
from tailrace.spi import Boundary, Bounds, Seal

EPOCH_MS = 1_500_000_000_000
RANDOM_DIGITS = 7

FIELDS = (b"i", b"n", b"l", b"b", b"g", b"a", b"s", b"m", b"z", b"o")
"""Asked for in this order."""

WITNESSES = 5
"""The first so many of them differ after anything was appended, removed or deleted."""

SEALED, FAILED = b"0", b"1"
"""How the seal begins; the reason follows the second."""


def tag_of(low: bytes) -> int:
    """Return the tag of the commit with that low."""
    return int(low) & 0xFFFFFFFF


def milliseconds(low: bytes) -> int:
    """Return when a commit was made, in milliseconds since ``EPOCH_MS``; 0 for none."""
    return int(low[:-RANDOM_DIGITS] or b"0")


@dataclass(slots=True, frozen=True)
class Identity:
    """One topic's identity.

    Attributes:
        largest: Bytes of the largest payload ever.
        size: Payload bytes retained.
        oldest: When the oldest record was appended (or earlier), as ``milliseconds`` counts.
    """

    bounds: Bounds
    grave: int
    largest: int
    size: int
    last_low: bytes
    oldest: int

    @property
    def records(self) -> int:
        """How many records are retained."""
        return self.bounds.tail.position - self.bounds.beginning.position


def sound(values: Sequence[bytes | None]) -> Identity | None:
    """Read the values of ``FIELDS``; ``None`` for a topic that does not exist.

    Raises:
        StoreUnusableError: They are none of ours.
    """
    try:
        return _parse(values)
    except ValueError:
        raise StoreUnusableError(
            "the identity of this topic is damaged: restore it from a backup, or delete the topic"
        ) from None


def _parse(values: Sequence[bytes | None]) -> Identity | None:
    incarnation, last, last_low, horizon, grave, horizon_low, seal, largest, size, oldest = values
    if incarnation is None:
        return None
    if last is None or last_low is None or horizon is None or horizon_low is None:
        raise ValueError("fields are missing")
    of = int(incarnation)
    return Identity(
        Bounds(
            Boundary(of, int(horizon), tag_of(horizon_low)),
            Boundary(of, int(last), tag_of(last_low)),
            None if seal is None else seal_of(seal),
        ),
        int(grave or 0),
        int(largest or 0),
        int(size or 0),
        last_low,
        int(oldest or 0),
    )


def grave_of(values: Sequence[bytes | None]) -> int:
    """Return the incarnation of the last deleted life that is remembered, 0 for none."""
    return int(values[4] or 0)


def seal_of(value: bytes) -> Seal:
    """Return the seal that the field says."""
    return Seal(value[1:].decode(errors="replace") if value[:1] == FAILED else None)


def seal_value(error: str | None) -> bytes:
    """Return what the field says of a seal."""
    return SEALED if error is None else FAILED + error.encode()
