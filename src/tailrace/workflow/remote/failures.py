"""What an answer means that is not the expected one: by its reason, where there is one, else by its status."""

import json
from collections.abc import Mapping
from typing import Any

from tailrace.errors import DurableStreamError, DurableStreamUnavailableError, StoreUnusableError
from tailrace.workflow import errors
from tailrace.workflow.errors import InvalidFieldsError, WorkflowStreamError
from tailrace.workflow.payloads import PayloadError, PayloadMediaTypeError, PayloadUnavailableError
from tailrace.workflow.payloads import errors as payloads

_BY_REASON: Mapping[str, type[WorkflowStreamError]] = {
    kind.reason: kind
    for kind in (*vars(errors).values(), *vars(payloads).values())
    if isinstance(kind, type)
    and issubclass(kind, WorkflowStreamError)
    and kind not in (WorkflowStreamError, PayloadError, PayloadMediaTypeError)
}


_UNAVAILABLE = frozenset({"unavailable", "overloaded", "unknown_outcome", "unusable_store", "request_timeout"})
"""Reasons of a Tailrace server that say whether something was stored."""


class RefusedError(WorkflowStreamError):
    """The server refuses the request for a reason that this release has no class for.

    ``details`` has the ``status`` and the ``reason`` of the answer, and what else it says.
    """


class Failed(Exception):  # noqa: N818 - one attempt's end, not the call's
    """One attempt came to nothing.

    Attributes:
        error: What the caller is told if no other attempt follows.
        sent: Whether the server may have done what was asked.
        again: Whether another attempt may fare better.
    """

    def __init__(self, error: DurableStreamError, *, sent: bool, again: bool) -> None:
        super().__init__(str(error))
        self.error = error
        self.sent = sent
        self.again = again


def failure(status: int, body: bytes, name: str) -> Failed:
    """Return what a status that is not a success means.

    Args:
        name: Of the server, for messages; holds no token.
    """
    said = _object(body)
    reason = said.get("reason")
    message = said.get("message")
    text = message if isinstance(message, str) and message else f"status {status}"
    if isinstance(reason, str) and reason in _UNAVAILABLE:
        return _unavailable(reason, f"{name}: {text}")
    kind = _BY_REASON.get(reason) if isinstance(reason, str) else None
    if isinstance(reason, str) and (status < 500 or kind is not None):
        details = {key: value for key, value in said.items() if key not in ("message", "reason")}
        if kind is not None and not (kind is InvalidFieldsError and not isinstance(details.get("errors"), dict)):
            # Only the storage of payloads may be away for a while, without the database and the server.
            away = issubclass(kind, PayloadUnavailableError)
            return Failed(_made(kind, text, details), sent=False, again=away)
        if status not in (401, 403, 408, 425, 429):
            told = {**details, "status": status, "reason": reason}
            return Failed(RefusedError(f"{name} refuses it: {text} ({reason})", told), sent=False, again=False)
    return _by_status(status, text, name)


def _unavailable(reason: str, said: str) -> Failed:
    if reason == "unusable_store":
        return Failed(StoreUnusableError(said), sent=False, again=False)
    return Failed(DurableStreamUnavailableError(said), sent=reason == "unknown_outcome", again=True)


def _by_status(status: int, text: str, name: str) -> Failed:
    unusable: str | None = None
    if status in (401, 403, 407):
        unusable = f"{name} does not let us do that ({text}): check the token"
    elif status in (404, 405, 501):
        unusable = f"{name} has no workflow streams there (status {status}): check the URL and its path"
    elif 300 <= status < 400:
        unusable = f"{name} redirects (status {status}): use the URL that it leads to"
    elif status == 413:
        unusable = f"something before {name} takes no request of that size (status 413)"
    elif 400 <= status < 500 and status not in (408, 421, 425, 429):
        unusable = f"{name} does not understand our requests (status {status}): check what answers there"
    if unusable is not None:
        return Failed(StoreUnusableError(unusable), sent=False, again=False)
    # Nobody knows after how much work a server's errors came; a proxy may have passed the request on.
    away = DurableStreamUnavailableError(f"{name} is not well ({text})")
    return Failed(away, sent=status >= 500, again=True)


def _made(kind: type[WorkflowStreamError], text: str, details: Mapping[str, object]) -> WorkflowStreamError:
    error = kind.__new__(kind)
    # The subclasses make their messages themselves, of what the server has put into its own.
    WorkflowStreamError.__init__(error, text, details)
    return error


def _object(body: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
