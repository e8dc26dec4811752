"""Places to opaque text and back. Pure: no store, no clock, no key.

A cursor is 64 lower-case hexadecimal characters, a head and a step:

    version 1 byte | topic 4 | incarnation 8 | position / 256, 8 | tag 4 | check of the head 4
    position modulo 256, 1 | check of the step 2

Cut like this because it runs for every record that is read: 256 records of one commit share a head, and there
are only 256 steps. Hexadecimal, because it is the cheapest URL-safe text that Python can make. An unborn place
is another version byte, and puts the grave and the time where incarnation and position stand. The checks catch
damage, not malice: across a trust boundary a cursor travels inside an authenticated token.
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
_HEAD = Struct(">B4sQQI")
_HEAD_BYTES = _HEAD.size + 4
_STEPS = [f"{step:02x}{crc32(bytes([step])) & 0xFFFF:04x}" for step in range(256)]

_MALFORMED = "not a cursor: hand back exactly the text that came with a record or a checkpoint"


class CursorCodec:
    """Encodes and decodes the cursors of one topic. Immutable, thread-safe."""

    __slots__ = ("_topic",)

    def __init__(self, topic: str) -> None:
        self._topic = hashlib.blake2b(topic.encode(), digest_size=4).digest()

    def encode(self, place: Place) -> TopicCursor:
        """Return the text of one place."""
        if isinstance(place, Unborn):
            return self._cursor(_UNBORN, place.grave, place.seen_at, 0)
        return self._cursor(_BOUNDARY, *place)

    def encode_all(self, incarnation: int, stored: Iterable[tuple[int, int, bytes]]) -> list[TopicCursor]:
        """Return the cursors of one life's records, given as (position, tag, payload)."""
        cursors: list[str] = []
        head, block_before, tag_before = "", -1, -1
        for position, tag, _ in stored:
            block = position >> 8
            if block != block_before or tag != tag_before:
                block_before, tag_before = block, tag
                head = self._head(_BOUNDARY, incarnation, block, tag)
            cursors.append(head + _STEPS[position & 255])
        return cast("list[TopicCursor]", cursors)

    def _cursor(self, version: int, identity: int, position: int, tag: int) -> TopicCursor:
        return TopicCursor(self._head(version, identity, position >> 8, tag) + _STEPS[position & 255])

    def _head(self, version: int, identity: int, block: int, tag: int) -> str:
        packed = _HEAD.pack(version, self._topic, identity, block, tag)
        return (packed + crc32(packed).to_bytes(4)).hex()

    def decode(self, cursor: object) -> Place:
        """Return the place that a cursor of this topic names.

        Raises:
            CursorUnavailableError: It is not text, damaged, of another topic, or of a release this one can not read.
        """
        head, step = _parts(cursor)
        version, topic, identity, block, tag = _HEAD.unpack_from(head)
        position = block << 8 | step
        if version not in (_BOUNDARY, _UNBORN):
            raise CursorUnavailableError("this cursor was made by a release that this one can not read")
        if topic != self._topic:
            raise CursorUnavailableError("this cursor belongs to another topic")
        if identity > MAX_POSITION or position > MAX_POSITION:
            raise CursorUnavailableError(_MALFORMED)
        if version == _UNBORN:
            return Unborn(seen_at=position, grave=identity)
        return Boundary(incarnation=identity, position=position, tag=tag)


def _parts(cursor: object) -> tuple[bytes, int]:
    """Return the head's bytes and the step of an undamaged cursor."""
    if not isinstance(cursor, str):
        raise CursorUnavailableError(
            f"a cursor must be text, not {type(cursor).__name__}: without one, subscribe from the beginning or the tail"
        )
    if len(cursor) != limits.MAX_CURSOR_CHARS:
        raise CursorUnavailableError(_MALFORMED)
    try:
        raw = bytes.fromhex(cursor)
    except ValueError:
        raise CursorUnavailableError(_MALFORMED) from None
    head, step = raw[:_HEAD_BYTES], raw[_HEAD_BYTES]
    # fromhex also takes capitals and white space; a cursor has exactly one spelling.
    if cursor != head.hex() + _STEPS[step] or int.from_bytes(head[_HEAD.size :], "big") != crc32(head[: _HEAD.size]):
        raise CursorUnavailableError(_MALFORMED)
    return head, step
