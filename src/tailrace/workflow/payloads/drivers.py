"""What a storage of payloads can do. Drivers know objects by their addresses, and nothing of references or items."""

from typing import Protocol


class PayloadDriver(Protocol):
    """A storage of objects, each of them bytes that never change. Blocking, thread-safe.

    Every operation raises ``PayloadUnavailableError`` when the storage can not answer: away, full, not permitted. In
    doubt it is that, and never "not found": a disk that is not mounted and a bucket that is gone have lost nothing.

    Attributes:
        base: What the addresses of its objects begin with, up to a slash.
    """

    @property
    def base(self) -> str: ...

    def put(self, uri: str, content: bytes) -> None:
        """Store an object, durably once this returns, whole or not at all. One that is there is replaced."""
        ...

    def get(self, uri: str, limit: int) -> bytes:
        """Return the bytes of an object.

        Raises:
            PayloadNotFoundError: It is not there.
            PayloadOversizedError: It has more than ``limit`` bytes; not all of them were read.
        """
        ...

    def delete(self, uri: str) -> None:
        """Remove an object; nothing happens if it is not there."""
        ...

    def exists(self, uri: str) -> bool:
        """Return whether an object is there."""
        ...

    def close(self) -> None:
        """Release what it holds. Idempotent, never raises."""
        ...
