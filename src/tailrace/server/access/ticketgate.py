"""Lets in who has a read ticket in the URL: an ``EventSource`` can send no header.

A browser comes back with the URL it began with, so with a ticket whose minute is over. It is let in again for ``grace``
seconds more if its ``Last-Event-ID`` is an authentic token of that topic and tenant: only a stream hands those out.
"""

import time
from typing import TYPE_CHECKING

from tailrace.errors import DurableStreamError, InvalidTokenError
from tailrace.server.access.keygate import KeyGate
from tailrace.server.access.refusal import refused
from tailrace.server.principals import Action, Grant, Principal
from tailrace.server.problems import Problem
from tailrace.server.request import topic_of
from tailrace.server.workflow.refusals import Refusal
from tailrace.server.workflow.routes import stream_with_ticket
from tailrace.tokens import KeyRing, Ticket, Tickets, Tokens

if TYPE_CHECKING:
    from tailrace.server.request import Request

_TOPICS, _EVENTS = b"/v1/topics/", b"/events"


class TicketGate:
    """Checks tickets.

    Args:
        ring: What sealed them.
        audience: Of this deployment.
        grace: Seconds after its expiry for which a ticket is good to go on, but not to begin.
        keys: Says whether the access key that a ticket came from is still good.
    """

    def __init__(self, ring: KeyRing, *, audience: str, grace: float, keys: KeyGate | None = None) -> None:
        self._tickets = Tickets(ring, audience=audience)
        self._ring = ring
        self._audience = audience
        self._grace = grace
        self._keys = keys

    def admit(self, text: str, request: "Request") -> Principal:
        """Return who holds a ticket.

        Raises:
            Problem: ``unauthenticated``.
        """
        try:
            ticket = self._tickets.open(text)
        except InvalidTokenError:
            raise refused("no valid ticket", request) from None
        if not self._issuer_holds(ticket.holder):
            raise refused("the access key that a ticket came from is good no more", request)
        now = time.time()
        if now >= ticket.expires_at and not (now < ticket.expires_at + self._grace and self._goes_on(ticket, request)):
            raise refused("a ticket has expired", request)
        grant = Grant(Action.READ, ticket.topic, exact=ticket.exact)
        # A stream may outlast the ticket, and ends where it could not come back any more.
        return Principal(ticket.holder, (grant,), ticket.tenant, expires_at=ticket.expires_at + self._grace)

    def _issuer_holds(self, holder: str) -> bool:
        source, _, rest = holder.partition(":")
        return source != "key" or (self._keys is not None and self._keys.holds(rest.partition(":")[0]))

    def _goes_on(self, ticket: Ticket, request: "Request") -> bool:
        token = request.header(b"last-event-id")
        if token is None:
            return False
        try:
            topic = _topic_of_events(request)
            if topic is None:
                return False
            Tokens(self._ring, audience=self._audience, tenant=ticket.tenant).open(topic, token)
        except (Problem, Refusal, DurableStreamError):
            return False
        return True


def _topic_of_events(request: "Request") -> str | None:
    """Return the topic whose events are asked for; ``None`` if something else is."""
    path = request.path
    if path.startswith(_TOPICS) and path.endswith(_EVENTS):
        return topic_of(path[len(_TOPICS) : -len(_EVENTS)])
    stream = stream_with_ticket(request)
    return None if stream is None else stream.topic
