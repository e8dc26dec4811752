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
    try:
        ticket = ticket_of(call.principal, name, exact=exact, lifetime=rest.get("expires_in", DEFAULT_LIFETIME))
    except ValueError as error:
        raise Problem("bad-request", f"expires_in {error}") from None
    return json_response({"ticket": call.service.tickets.seal(ticket), "expires_at": ticket.expires_at}, 201)


def ticket_of(principal: Principal, name: str, *, exact: bool, lifetime: object) -> Ticket:
    """Return a ticket, which is good no longer than the credential of who asks for it.

    Args:
        principal: Who asks, and may read all of it.
        name: Of a topic, or a prefix if it is not ``exact``.
        lifetime: In seconds, as it was sent.

    Raises:
        ValueError: The lifetime is none; the message says what it must be.
    """
    if isinstance(lifetime, bool) or not isinstance(lifetime, int | float) or not 1 <= lifetime <= MAX_LIFETIME:
        raise ValueError(f"must be from 1 to {MAX_LIFETIME:.0f} seconds")
    expires_at = time.time() + lifetime
    if principal.expires_at is not None:
        expires_at = min(expires_at, principal.expires_at)
    return Ticket(name, exact, principal.tenant, principal.name, expires_at)


def _check_name(name: str, exact: bool) -> None:
    if exact or name:
        try:
            topic_name(name)
        except InvalidTopicNameError as error:
            raise Problem("bad-topic", str(error)) from None


def _may_read(principal: Principal, name: str, exact: bool) -> bool:
    return principal.may(Action.READ, name) if exact else principal.may_everywhere(Action.READ, name)
