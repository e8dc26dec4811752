"""What readers are told of a task that failed: a line that the store takes, whatever the exception says. Pure."""

import logging
import re
from collections.abc import Callable

from tailrace.workflow.bounds import MAX_ID_CHARS

_log = logging.getLogger("tailrace.celery")

_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def name_of(exc: BaseException) -> str:
    """Return the name of an exception's class."""
    return type(exc).__name__


def reason_text(reason: Callable[[BaseException], str], exc: BaseException | None) -> str:
    """Return why a stream has ended: 1 to 191 characters, none of which is refused.

    Args:
        reason: The user's words for an exception.
        exc: ``None``: Celery had none.
    """
    if exc is None:
        return "failed"
    try:
        text = str(reason(exc))
    except Exception:  # noqa: BLE001 - of the user's function; the stream has to end all the same
        _log.exception("the reason of a task's failure could not be put into words")
        text = ""
    text = _CONTROLS.sub(" ", text).encode("utf-8", "replace").decode().strip()
    return (text or name_of(exc))[:MAX_ID_CHARS]
