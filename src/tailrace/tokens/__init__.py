"""Resume tokens: cursors that can be handed to somebody who is not trusted.

Needs the extra ``tokens``, from the first ``Tokens`` on; key rings are made and read without it.
"""

from tailrace.tokens.keys import Key, KeyState
from tailrace.tokens.ring import KeyRing
from tailrace.tokens.tickets import Ticket, Tickets
from tailrace.tokens.tokens import Opened, TokenKind, Tokens

__all__ = ["Key", "KeyRing", "KeyState", "Opened", "Ticket", "Tickets", "TokenKind", "Tokens"]
