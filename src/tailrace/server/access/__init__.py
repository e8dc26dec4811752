"""Gates: who asks, found out from a key, a JWT or a ticket."""

from tailrace.server.access.chain import Chain
from tailrace.server.access.jwts import JwtGate
from tailrace.server.access.keyfile import KeyFile
from tailrace.server.access.keygate import KeyGate
from tailrace.server.access.keys import AccessKey
from tailrace.server.access.ring import AccessKeys
from tailrace.server.access.scopes import grant_of
from tailrace.server.access.ticketgate import TicketGate

__all__ = ["AccessKey", "AccessKeys", "Chain", "JwtGate", "KeyFile", "KeyGate", "TicketGate", "grant_of"]
