"""An answer that has come, or has not: the same in both colours."""

from typing import TypeVar

from tailrace.errors import DurableStreamUnavailableError
from tailrace.workflow.remote.failures import Failed, failure
from tailrace.workflow.remote.requests import Request

T = TypeVar("T")

MOST_BYTES = 64 * 2**20
"""Bytes in one answer: a page may hold 500 items of a request's size each, but a server is not trusted without end."""

SWEEPS_ITSELF = "a server applies retention by itself: sweep where the database is"


def taken(request: Request[T], status: int, body: bytes, name: str) -> T:
    """Return what an answer says.

    Raises:
        Failed: It says something else.
    """
    if not 200 <= status < 300:
        raise failure(status, body, name)
    try:
        return request.read(body)
    except (ValueError, LookupError, TypeError, RecursionError) as exc:
        error = DurableStreamUnavailableError(f"{name} answers, but not as Workflow Streams do (status {status})")
        raise Failed(error, sent=True, again=False) from exc


def broken(name: str, said: Exception, *, closed: bool, sent: bool, timed_out: bool) -> Failed:
    """Return what it means that an answer did not come to its end.

    Args:
        closed: Whether we have hung up ourselves, for good.
    """
    if closed:
        return Failed(DurableStreamUnavailableError("the service is closed"), sent=sent, again=False)
    error = DurableStreamUnavailableError(f"{name} did not answer to the end: {said}")
    # Silence has used up the time; another attempt would only find more of it.
    return Failed(error, sent=sent, again=not timed_out)


def too_long(name: str) -> Failed:
    """Return what an answer is that never ends."""
    return Failed(DurableStreamUnavailableError(f"{name} answers with over {MOST_BYTES} bytes"), sent=True, again=False)
