"""``POST tickets``: the right to follow one stream for a minute, for a browser, which can send no header."""

from tailrace.server.response import Response
from tailrace.server.tickets import DEFAULT_LIFETIME, ticket_of
from tailrace.server.workflow.call import Call
from tailrace.server.workflow.identities import right_to_read
from tailrace.server.workflow.refusals import json_answer
from tailrace.workflow.errors import InvalidFieldsError


async def issue(call: Call) -> Response:
    """Answer with a ticket for the events of a stream, which need not be there yet; good for ``expires_in`` seconds."""
    stream, fields = call.stream, await call.fields()
    name, lifetime = right_to_read(stream).prefix, fields.get("expires_in", DEFAULT_LIFETIME)
    try:
        ticket = ticket_of(call.principal, name, exact=True, lifetime=lifetime)
    except ValueError as error:
        raise InvalidFieldsError({"expires_in": [str(error)]}) from None
    return json_answer({"ticket": call.shared.core.tickets.seal(ticket), "expires_at": ticket.expires_at}, 201)
