"""The last line of defence against exceptions that an adapter should have mapped and did not."""

import logging
from types import TracebackType

from tailrace.errors import DurableStreamError, DurableStreamUnavailableError

_log = logging.getLogger("tailrace.store")


class foreign_errors:  # noqa: N801 - reads as what it does: with foreign_errors()
    """Turn whatever a store raises that is not ours into ``DurableStreamUnavailableError``, chained and logged.

    A class, because every append passes here and a generator costs three times as much.
    """

    __slots__ = ("_maybe_stored",)

    def __init__(self, *, maybe_stored: bool = False) -> None:
        self._maybe_stored = maybe_stored

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Map what is neither ours nor meant to end the thread."""
        if exc is None or isinstance(exc, DurableStreamError) or not isinstance(exc, Exception):
            return
        _log.error("the store raised an exception that it did not map", exc_info=exc)
        message = f"the store failed with {type(exc).__name__}"
        raise DurableStreamUnavailableError(message, maybe_stored=self._maybe_stored) from exc
