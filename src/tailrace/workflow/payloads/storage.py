"""The storage of payloads as the rest sees it: one that is not there, or not the one, is told like one that is away."""

import contextlib
from collections.abc import Iterator

from tailrace.errors import InvalidArgumentError
from tailrace.workflow.payloads.drivers import PayloadDriver
from tailrace.workflow.payloads.errors import PayloadUnavailableError


class Storage:
    """Thread-safe; blocks. Operations are those of ``PayloadDriver``, with its errors.

    Each of them raises ``PayloadUnavailableError`` also if there is no storage, or for an address elsewhere.

    Args:
        driver: ``None``: there is none. Closed with this.
    """

    def __init__(self, driver: PayloadDriver | None) -> None:
        self._driver = driver

    @property
    def base(self) -> str | None:
        """What the addresses of its objects begin with; ``None`` if there is no storage."""
        return None if self._driver is None else self._driver.base

    def check(self) -> str:
        """Return ``base``.

        Raises:
            PayloadUnavailableError: There is no storage.
        """
        return self._opened().base

    def put(self, uri: str, content: bytes) -> None:
        """Store an object."""
        with _elsewhere():
            self._opened().put(uri, content)

    def get(self, uri: str, limit: int) -> bytes:
        """Return the bytes of an object."""
        with _elsewhere():
            return self._opened().get(uri, limit)

    def delete(self, uri: str) -> None:
        """Remove an object."""
        with _elsewhere():
            self._opened().delete(uri)

    def exists(self, uri: str) -> bool:
        """Return whether an object is there."""
        with _elsewhere():
            return self._opened().exists(uri)

    def close(self) -> None:
        """Release the driver. Idempotent, never raises."""
        if self._driver is not None:
            self._driver.close()

    def _opened(self) -> PayloadDriver:
        if self._driver is None:
            raise PayloadUnavailableError("no storage of payloads is configured here")
        return self._driver


@contextlib.contextmanager
def _elsewhere() -> Iterator[None]:
    try:
        yield
    except InvalidArgumentError as elsewhere:
        raise PayloadUnavailableError("the object is in another storage than the one here") from elsewhere
