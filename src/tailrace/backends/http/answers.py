"""What an answer that is not the expected one means: ours by its problem's name, anybody else's by its status."""

import json
from typing import NamedTuple

from tailrace.backends.http.line import Head
from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError
from tailrace.wire import ACCEPTED, failure_of

PROBLEM_BYTES = 64 * 1024
"""Bytes of an error that are read."""

_URN = "urn:tailrace:problem:"
_LATER = frozenset({408, 421, 425, 429})
"""Statuses below 500 that say: not now."""


class Answer(NamedTuple):
    """A whole answer."""

    head: Head
    body: bytes


def is_ours(head: Head) -> bool:
    """Return whether it is what a bulk route answers."""
    kind = head.headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    return head.status == 200 and kind == ACCEPTED and b"content-encoding" not in head.headers


def explain(answer: Answer, name: str) -> DurableStreamUnavailableError:
    """Return the error for an answer that is not ours; ``maybe_stored`` says whether an append may have been done.

    Args:
        name: Of the server, for messages.
    """
    status = answer.head.status
    problem = _problem(answer)
    if problem is not None:
        kind, detail = problem
        return failure_of(kind, f"{name}: {detail}")
    if status in (401, 403, 407):
        return StoreUnusableError(f"{name} does not let us in (status {status}): check the key")
    if status in (404, 405, 501):
        return StoreUnusableError(f"{name} has no Tailrace store there (status {status}): check the URL and its path")
    if 300 <= status < 400:
        return StoreUnusableError(f"{name} redirects (status {status}): use the URL that it leads to")
    if status == 413:
        return StoreUnusableError(f"something before {name} takes no request of that size (status 413)")
    if 400 <= status < 500 and status not in _LATER:
        return StoreUnusableError(
            f"{name} does not understand our requests (status {status}): check what answers there"
        )
    if status < 400:
        said = f"{name} answers, but is no Tailrace server, or one of another release (status {status})"
        return StoreUnusableError(said, maybe_stored=True)
    # Nobody knows after how much work a server's errors came; a proxy may have passed the request on.
    return DurableStreamUnavailableError(f"{name} is not well (status {status})", maybe_stored=status >= 500)


def _problem(answer: Answer) -> tuple[str, str] | None:
    """Return the name and the detail of an error of a Tailrace server."""
    if answer.head.headers.get(b"content-type") != b"application/problem+json":
        return None
    try:
        content = json.loads(answer.body)
    except (ValueError, RecursionError):
        return None
    match content:
        case {"type": str(kind), "detail": str(detail)} if kind.startswith(_URN):
            return kind.removeprefix(_URN), detail
        case _:
            return None
