"""``POST /v1/tickets``: a service fetches, for a browser, the right to read one topic or prefix for a minute."""

import time

from tailrace.arguments import topic_name
from tailrace.errors import InvalidTopicNameError
from tailrace.server.call import Call
from tailrace.server.principals import Action, Principal
from tailrace.server.problems import Problem
from tailrace.server.response import Response, json_response
from tailrace.tokens import Ticket

DEFAULT_LIFETIME = 60.0
"""Seconds: enough to open a stream. What began with a ticket goes on without it."""
MAX_LIFETIME = 3600.0


async def issue(call: Call) -> Response:
    """Answer with a ticket for ``{"topic": ...}`` or ``{"prefix": ...}``, good for ``expires_in`` seconds."""
    call.request.only()
    match await call.json():
        case {"topic": str(name), **rest} if not rest.keys() - {"expires_in"}:
            exact = True
        case {"prefix": str(name), **rest} if not rest.keys() - {"expires_in"}:
            exact = False
        case _:
            raise Problem("bad-request", 'the body must be {"topic": "..."} or {"prefix": "..."}')
    _check_name(name, exact)
    if not _may_read(call.principal, name, exact):
        raise Problem("forbidden", "this credential does not allow read on all that the ticket is for")
    expires_at = time.time() + _lifetime(rest.get("expires_in", DEFAULT_LIFETIME))
    if call.principal.expires_at is not None:
        expires_at = min(expires_at, call.principal.expires_at)
    ticket = Ticket(name, exact, call.principal.tenant, call.principal.name, expires_at)
    return json_response({"ticket": call.service.tickets.seal(ticket), "expires_at": expires_at}, 201)


def _check_name(name: str, exact: bool) -> None:
    if exact or name:
        try:
            topic_name(name)
        except InvalidTopicNameError as error:
            raise Problem("bad-topic", str(error)) from None


def _may_read(principal: Principal, name: str, exact: bool) -> bool:
    return principal.may(Action.READ, name) if exact else principal.may_everywhere(Action.READ, name)


def _lifetime(seconds: object) -> float:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 1 <= seconds <= MAX_LIFETIME:
        raise Problem("bad-request", f"expires_in must be from 1 to {MAX_LIFETIME:.0f} seconds")
    return float(seconds)
