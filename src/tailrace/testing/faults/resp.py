"""Where the frames of the Redis protocol end, in both versions of it, in a stream of chunks. No I/O."""

from collections.abc import Iterator

_SIZED = b"$=!"
_AGGREGATES = {ord("*"): 1, ord("~"): 1, ord(">"): 1, ord("%"): 2}
_PUSH = ord(">")


class Frames:
    """Cuts one direction of one connection into frames. Not thread-safe."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._at = 0
        # How many members each open aggregate still lacks, the innermost last.
        self._lacking: list[int] = []

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Take a chunk in; yield each frame that is complete now, as it came."""
        self._buffer += data
        while self._step():
            if not self._lacking:
                frame = bytes(self._buffer[: self._at])
                del self._buffer[: self._at]
                self._at = 0
                yield frame

    def _step(self) -> bool:
        """Pass over one element; return whether it was all there."""
        line = self._buffer.find(b"\r\n", self._at)
        if line < 0:
            return False
        kind, end = self._buffer[self._at], line + 2
        if kind in _SIZED:
            size = int(self._buffer[self._at + 1 : line])
            end += size + 2 if size >= 0 else 0
            if len(self._buffer) < end:
                return False
        elif kind in _AGGREGATES:
            members = int(self._buffer[self._at + 1 : line]) * _AGGREGATES[kind]
            if members > 0:
                self._lacking.append(members + 1)
        self._at = end
        self._complete()
        return True

    def _complete(self) -> None:
        # The header of an aggregate counts as one of its members, so that it opens and fills in one way.
        while self._lacking:
            self._lacking[-1] -= 1
            if self._lacking[-1]:
                return
            self._lacking.pop()


def is_push(frame: bytes) -> bool:
    """Whether the server sent this frame on its own account, and not as a reply."""
    return frame[0] == _PUSH


def words(frame: bytes) -> list[bytes]:
    """Return the words of a command, be it an array or a line."""
    if not frame.startswith(b"*"):
        return frame.split()
    found: list[bytes] = []
    at = frame.index(b"\r\n") + 2
    while at < len(frame):
        line = frame.index(b"\r\n", at)
        start = line + 2
        end = start + int(frame[at + 1 : line])
        found.append(frame[start:end])
        at = end + 2
    return found
