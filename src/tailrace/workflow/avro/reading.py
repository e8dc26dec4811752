"""The bytes of a datum to its value. Whatever the bytes are, it ends, and it takes no more memory than they pay for."""

import math
import struct
from collections.abc import Iterator

from tailrace.workflow.avro.values import MAX_DEPTH, Branch, EnvelopeError, shallower

_LONG_BITS = 64


def read(datum: bytes) -> object:
    """Return the value of a datum that fills all of ``datum``.

    Raises:
        EnvelopeError: It is not one, or is nested too deep.
    """
    reader = _Reader(datum)
    value = reader.value(MAX_DEPTH)
    if reader.left:
        raise EnvelopeError(f"{reader.left} bytes follow the value")
    return value


class _Reader:
    """What was read of a datum, and what is left."""

    def __init__(self, datum: bytes) -> None:
        self._datum = datum
        self._at = 0

    @property
    def left(self) -> int:
        return len(self._datum) - self._at

    def value(self, depth: int) -> object:
        match self._long():
            case Branch.NULL:
                return None
            case Branch.BOOLEAN:
                return self._boolean()
            case Branch.LONG:
                return self._long()
            case Branch.DOUBLE:
                return self._float()
            case Branch.BYTES:
                return self._bytes()
            case Branch.STRING:
                return self._text()
            case Branch.ARRAY:
                return self._list(shallower(depth))
            case Branch.MAP:
                return self._map(shallower(depth))
            case branch:
                raise EnvelopeError(f"a value has no branch {branch}")

    def _list(self, depth: int) -> list[object]:
        return [self.value(depth) for _ in self._items()]

    def _map(self, depth: int) -> dict[str, object]:
        entries: dict[str, object] = {}
        for _ in self._items():
            key = self._text()
            if key in entries:
                # Two readers may differ on which one holds.
                raise EnvelopeError("a map has a key twice")
            entries[key] = self.value(depth)
        return entries

    def _items(self) -> Iterator[None]:
        """Yield before each item of an array or a map. They come in blocks, some of which say how long they are."""
        while count := self._long():
            end = None
            if count < 0:
                count = -count
                size = self._long()
                end = self._at + size
            if count > self.left:
                raise EnvelopeError("more items are announced than there are bytes")
            for _ in range(count):
                yield
            if end not in (None, self._at):
                raise EnvelopeError("a block is not as long as it says")

    def _boolean(self) -> bool:
        byte = self._take(1)
        if byte not in (b"\0", b"\1"):
            raise EnvelopeError("a boolean is neither true nor false")
        return byte == b"\1"

    def _long(self) -> int:
        rest = shift = 0
        while True:
            (byte,) = self._take(1)
            rest |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
            if shift >= _LONG_BITS:
                raise EnvelopeError("an integer has more bytes than 64 bits need")
        if rest >> _LONG_BITS:
            raise EnvelopeError("an integer has more than 64 bits")
        return (rest >> 1) ^ -(rest & 1)

    def _float(self) -> float:
        value: float = struct.unpack("<d", self._take(8))[0]
        if not math.isfinite(value):
            raise EnvelopeError("a float is not finite")
        return value

    def _bytes(self) -> bytes:
        return self._take(self._long())

    def _text(self) -> str:
        try:
            return self._bytes().decode()
        except UnicodeDecodeError as wrong:
            raise EnvelopeError("text is not UTF-8") from wrong

    def _take(self, size: int) -> bytes:
        if not 0 <= size <= self.left:
            raise EnvelopeError("the value is cut off")
        start, self._at = self._at, self._at + size
        return self._datum[start : self._at]
