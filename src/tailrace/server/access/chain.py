"""The gate of a server with authentication: a ticket, an access key or a JWT, and one answer to all others."""

from typing import TYPE_CHECKING

from tailrace.server.access.jwts import JwtGate
from tailrace.server.access.keygate import KeyGate
from tailrace.server.access.keys import PREFIX
from tailrace.server.access.refusal import refused
from tailrace.server.access.ticketgate import TicketGate
from tailrace.server.principals import Gate, Principal

if TYPE_CHECKING:
    from tailrace.server.request import Request


class Chain(Gate):
    """Asks the gate that a credential is for. A credential that is wrong is refused, never tried elsewhere.

    Args:
        keys: For bearers that begin like an access key.
        jwts: For all other bearers.
        tickets: For ``?ticket=``, on GET and without a bearer.
    """

    def __init__(
        self, *, keys: KeyGate | None = None, jwts: JwtGate | None = None, tickets: TicketGate | None = None
    ) -> None:
        self._keys = keys
        self._jwts = jwts
        self._tickets = tickets

    def admit(self, request: "Request") -> Principal:
        """Return who asks.

        Raises:
            Problem: ``unauthenticated``, or ``bad-request`` for a query that can not be read.
        """
        given = [value for name, value in request.scope["headers"] if name == b"authorization"]
        if not given:
            ticket = request.query.get("ticket") if request.method == "GET" else None
            if ticket is None or self._tickets is None:
                raise refused("no credential", request)
            return self._tickets.admit(ticket, request)
        # Of two, a proxy before us may have checked the other one.
        scheme, _, text = given[0].decode("latin-1").partition(" ")
        if len(given) > 1 or scheme.lower() != "bearer":
            raise refused("an Authorization that is not one bearer", request)
        text = text.strip(" ")
        if text.startswith(PREFIX):
            if self._keys is not None:
                return self._keys.admit(text, request)
        elif self._jwts is not None:
            return self._jwts.admit(text, request)
        raise refused("a kind of credential that is not configured", request)
