"""Places to opaque text and back. Pure: no store, no clock, no key.

A cursor is 62 lower-case hexadecimal characters:

    version 1 byte | topic 6 bytes | incarnation 8 | position 8 | tag 4 | check 4

An unborn place is another version byte, and puts the grave and the time where incarnation and
position stand. The check catches damage, not malice: across a trust boundary a cursor travels inside
an authenticated token. Hexadecimal, because this runs once for every record that is read and is the
cheapest URL-safe text that Python can make.
"""

import hashlib
from collections.abc import Iterable
from struct import Struct
from typing import cast
from zlib import crc32

from tailrace import limits
from tailrace.boundaries import MAX_POSITION, Boundary, Place, Unborn
from tailrace.errors import CursorUnavailableError
from tailrace.records import TopicCursor

_BOUNDARY = 0x11
_UNBORN = 0x12
_HEAD = Struct(">B6sQ")
_BODY = Struct(">QI")
_LENGTH = _HEAD.size + _BODY.size + 4

_MALFORMED = "not a cursor: hand back exactly the text that came with a record or a checkpoint"


class CursorCodec:
    """Encodes and decodes the cursors of one topic. Immutable, thread-safe."""

    __slots__ = ("_fingerprint",)

    def __init__(self, topic: str) -> None:
        self._fingerprint = hashlib.blake2b(topic.encode(), digest_size=6).digest()

    def encode(self, place: Place) -> TopicCursor:
        """Return the text of one place."""
        if isinstance(place, Unborn):
            head, body = _HEAD.pack(_UNBORN, self._fingerprint, place.grave), _BODY.pack(place.seen_at, 0)
        else:
            head = _HEAD.pack(_BOUNDARY, self._fingerprint, place.incarnation)
            body = _BODY.pack(place.position, place.tag)
        return TopicCursor((head + body + crc32(head + body).to_bytes(4, "big")).hex())

    def encoder(self, incarnation: int) -> "Encoder":
        """Return what encodes many positions of one incarnation."""
        return Encoder(_HEAD.pack(_BOUNDARY, self._fingerprint, incarnation))

    def decode(self, cursor: object) -> Place:
        """Return the place that a cursor of this topic names.

        Raises:
            CursorUnavailableError: It is not text, damaged, of another topic, or of a release this one can not read.
        """
        raw = _raw_bytes(cursor)
        if int.from_bytes(raw[-4:], "big") != crc32(raw[:-4]):
            raise CursorUnavailableError(_MALFORMED)
        version, fingerprint, identity = _HEAD.unpack_from(raw)
        position, tag = _BODY.unpack_from(raw, _HEAD.size)
        if version not in (_BOUNDARY, _UNBORN):
            raise CursorUnavailableError("this cursor was made by a release that this one can not read")
        if fingerprint != self._fingerprint:
            raise CursorUnavailableError("this cursor belongs to another topic")
        if identity > MAX_POSITION or position > MAX_POSITION:
            raise CursorUnavailableError(_MALFORMED)
        if version == _UNBORN:
            return Unborn(seen_at=position, grave=identity)
        return Boundary(incarnation=identity, position=position, tag=tag)


class Encoder:
    """Encodes positions of one topic's incarnation, with everything they share done once."""

    __slots__ = ("_check", "_prefix")

    def __init__(self, head: bytes) -> None:
        self._check = crc32(head)
        self._prefix = head.hex()

    def __call__(self, stored: Iterable[tuple[int, int, bytes]]) -> list[TopicCursor]:
        """Return the cursors of records given as (position, tag, payload)."""
        prefix, check, pack = self._prefix, self._check, _BODY.pack
        # One expression and no call of ours in it: this is the price of every record that is read.
        texts = [
            prefix + ((body := pack(position, tag)) + crc32(body, check).to_bytes(4, "big")).hex()
            for position, tag, _ in stored
        ]
        return cast("list[TopicCursor]", texts)


def _raw_bytes(cursor: object) -> bytes:
    if not isinstance(cursor, str):
        raise CursorUnavailableError(f"a cursor must be text, not {type(cursor).__name__}")
    if len(cursor) != _LENGTH * 2 or len(cursor) > limits.MAX_CURSOR_CHARS:
        raise CursorUnavailableError(_MALFORMED)
    try:
        raw = bytes.fromhex(cursor)
    except ValueError:
        raise CursorUnavailableError(_MALFORMED) from None
    # fromhex also takes capitals and white space; a cursor has exactly one spelling.
    if raw.hex() != cursor:
        raise CursorUnavailableError(_MALFORMED)
    return raw
