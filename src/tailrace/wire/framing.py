"""Frames: a head in JSON, and bytes that it describes, as they are.

length of the head 4 bytes | length of the bytes 4 | head | bytes
"""

import json
import struct
from collections.abc import Iterable, Iterator

_LENGTHS = struct.Struct(">II")

# In ASCII: a message may hold what has no UTF-8 form, such as a file's name.
_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class MalformedError(ValueError):
    """Not what the protocol says. The message names what is wrong with it, and holds nothing of it."""


def to_json(content: object) -> bytes:
    """Return a value as the shortest JSON."""
    return _encode(content).encode()


def from_json(data: bytes | bytearray | memoryview, what: str) -> object:
    """Return the value that JSON stands for.

    Raises:
        MalformedError: It is none.
    """
    try:
        return json.loads(bytes(data))
    except (ValueError, RecursionError):
        raise MalformedError(f"{what} is not JSON") from None


def frame(head: object, payloads: Iterable[bytes] = ()) -> bytes:
    """Return one frame."""
    text = to_json(head)
    body = b"".join(payloads)
    return b"".join((_LENGTHS.pack(len(text), len(body)), text, body))


class Frames:
    """Takes bytes as they arrive, and gives the frames in them.

    Args:
        limit: Bytes in one frame, at most; more is not waited for.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._buffer = bytearray()

    def feed(self, data: bytes | bytearray) -> Iterator[tuple[object, memoryview]]:
        """Give the head and the bytes of every frame that is whole now.

        Raises:
            MalformedError: What arrived is no frame, or one over the limit.
        """
        self._buffer += data
        while len(self._buffer) >= _LENGTHS.size:
            head_length, body_length = _LENGTHS.unpack_from(self._buffer)
            if head_length + body_length > self._limit:
                raise MalformedError(f"a frame is over the limit of {self._limit} bytes")
            head_ends = _LENGTHS.size + head_length
            ends = head_ends + body_length
            if len(self._buffer) < ends:
                return
            # Handed over, not copied: a view keeps what it shows.
            whole, self._buffer = self._buffer, self._buffer[ends:]
            view = memoryview(whole)
            yield from_json(view[_LENGTHS.size : head_ends], "the head of a frame"), view[head_ends:ends]

    def end(self) -> None:
        """Check that nothing is left over.

        Raises:
            MalformedError: A frame is not whole.
        """
        if self._buffer:
            raise MalformedError("it ends in the middle of a frame")


def only_frame(data: bytes) -> tuple[object, memoryview]:
    """Return the head and the bytes of a single frame.

    Raises:
        MalformedError: It is not exactly one.
    """
    frames = Frames(len(data))
    found = list(frames.feed(data))
    frames.end()
    if len(found) != 1:
        raise MalformedError("it is not one frame")
    return found[0]
