"""How a body becomes what it asks for, and an answer one that the client knows for ours."""

from collections.abc import Callable
from typing import TypeVar

from tailrace.server.call import Call
from tailrace.server.problems import Problem
from tailrace.server.response import Response
from tailrace.wire import ACCEPTED, MalformedError

T = TypeVar("T")


async def asked(call: Call, unpack: Callable[[bytes], T]) -> T:
    """Return what the body asks for.

    Raises:
        Problem: Nothing that makes sense; or the principal is not trusted with cursors.
    """
    trusted(call)
    body = await call.body()
    try:
        return unpack(body)
    except MalformedError as error:
        raise Problem("bad-request", f"the body is not what this route takes: {error}") from None


def trusted(call: Call) -> None:
    """Refuse whoever may not exchange places as they are.

    Raises:
        Problem: ``forbidden``.
    """
    call.request.only()
    if not call.principal.trusted:
        raise Problem("forbidden", "this credential is not for services: it does not open the store's own routes")


def answer(body: bytes) -> Response:
    """Return an answer that the client knows for one of ours."""
    return Response(200, body, ACCEPTED)
