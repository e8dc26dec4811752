"""``POST tickets``: the right to follow one stream for a minute, for a browser, which can send no header."""

import time

from tailrace.server.response import Response
from tailrace.server.tickets import DEFAULT_LIFETIME, MAX_LIFETIME
from tailrace.server.workflow.call import Call
from tailrace.server.workflow.identities import right_to_read
from tailrace.server.workflow.refusals import json_answer
from tailrace.tokens import Ticket
from tailrace.workflow.errors import InvalidFieldsError


async def issue(call: Call) -> Response:
    """Answer with a ticket for the events of a stream, which need not be there yet; good for ``expires_in`` seconds."""
    stream, fields = call.stream, await call.fields()
    lifetime = fields.get("expires_in", DEFAULT_LIFETIME)
    if isinstance(lifetime, bool) or not isinstance(lifetime, int | float) or not 1 <= lifetime <= MAX_LIFETIME:
        raise InvalidFieldsError({"expires_in": [f"must be from 1 to {MAX_LIFETIME:.0f} seconds"]})
    principal = call.principal
    expires_at = time.time() + lifetime
    if principal.expires_at is not None:
        expires_at = min(expires_at, principal.expires_at)
    ticket = Ticket(right_to_read(stream).prefix, True, principal.tenant, principal.name, expires_at)
    return json_answer({"ticket": call.shared.core.tickets.seal(ticket), "expires_at": expires_at}, 201)
