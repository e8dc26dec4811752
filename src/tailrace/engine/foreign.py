"""The last line of defence against exceptions that an adapter should have mapped and did not."""

import contextlib
import logging
from collections.abc import Iterator

from tailrace.errors import DurableStreamError, DurableStreamUnavailableError

_log = logging.getLogger("tailrace.store")


@contextlib.contextmanager
def foreign_errors(*, maybe_stored: bool = False) -> Iterator[None]:
    """Turn whatever a store raises that is not ours into ``DurableStreamUnavailableError``, chained and logged."""
    try:
        yield
    except DurableStreamError:
        raise
    except Exception as exc:
        _log.exception("the store raised an exception that it did not map")
        message = f"the store failed with {type(exc).__name__}"
        raise DurableStreamUnavailableError(message, maybe_stored=maybe_stored) from exc
