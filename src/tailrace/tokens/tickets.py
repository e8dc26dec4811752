"""Read tickets: what a browser shows instead of a key, sealed with the ring of resume tokens, never one of them.

    tkt_ | base64: version 1 | key id 4 | seed 24 | sealed: expiry 6, exact 1, 3 lengths, 3 texts, padding | tag 16

Keys are derived for another purpose than those of resume tokens: each fails to authenticate as the other.
"""

import base64
import os
import re
from dataclasses import dataclass, field
from struct import Struct
from struct import error as StructError  # noqa: N812 - it is a class

from tailrace.errors import InvalidArgumentError, InvalidTokenError
from tailrace.tokens.keys import ID_BYTES
from tailrace.tokens.ring import KeyRing

PREFIX = "tkt_"

_VERSION = b"\x01"
_SEED_BYTES = 24
_HEAD_BYTES = len(_VERSION) + ID_BYTES + _SEED_BYTES
_TAG_BYTES = 16
_PURPOSE = b"tailrace read ticket 1"
_HEAD = Struct(">6sBHHH")
_MAX_TEXT = 600
_TICKET = re.compile(r"tkt_((?:[A-Za-z0-9_-]{4}){20,800})")
_BLANK = "A" * 160


@dataclass(frozen=True, slots=True)
class Ticket:
    """What an authentic ticket holds.

    Attributes:
        topic: The topic, or what its name begins with.
        exact: Which of the two.
        tenant: Whose topics.
        holder: Name of the principal who asked for it.
        expires_at: Seconds since the epoch.
    """

    topic: str
    exact: bool
    tenant: str
    holder: str
    expires_at: float = field(default=0.0)


class Tickets:
    """Seals and opens the tickets of one audience. Immutable, thread-safe; computes for some ten microseconds."""

    __slots__ = ("_bound", "_ring", "_sealing")

    def __init__(self, ring: KeyRing, *, audience: str) -> None:
        # Here and not above: rings are made and rotated on machines without the library.
        from tailrace.tokens import sealing

        self._bound = audience.encode()
        self._ring = ring
        self._sealing = sealing

    def seal(self, ticket: Ticket) -> str:
        """Return a ticket as text; two for the same thing differ.

        Raises:
            InvalidArgumentError: A text in it is too long or has no UTF-8 form.
        """
        try:
            texts = [text.encode() for text in (ticket.topic, ticket.tenant, ticket.holder)]
        except UnicodeEncodeError:
            raise InvalidArgumentError("a ticket can not hold a lone surrogate") from None
        if any(len(text) > _MAX_TEXT for text in texts):
            raise InvalidArgumentError(f"each text of a ticket may have {_MAX_TEXT} bytes of UTF-8")
        expiry = int(ticket.expires_at * 1000).to_bytes(6)
        content = _HEAD.pack(expiry, ticket.exact, *map(len, texts)) + b"".join(texts)
        # To a multiple of three in all: then base64 has no bit to spare that could be flipped unseen.
        content += bytes(-(_HEAD_BYTES + len(content) + _TAG_BYTES) % 3)
        key, seed = self._ring.sealing, os.urandom(_SEED_BYTES)
        head = _VERSION + key.id + seed
        sealed = self._sealing.seal(key.secret, seed, content, head + self._bound, purpose=_PURPOSE)
        return PREFIX + base64.urlsafe_b64encode(head + sealed).decode("ascii")

    def open(self, text: str) -> Ticket:
        """Return what an authentic ticket holds; whether its time is over is for the caller to judge.

        Raises:
            InvalidTokenError: It is none of this audience and ring. Message and, but for noise, time are the same for
                all that can be wrong.
        """
        found = _TICKET.fullmatch(text)
        raw = base64.urlsafe_b64decode(found[1] if found else _BLANK)
        head, sealed = raw[:_HEAD_BYTES], raw[_HEAD_BYTES:]
        secret = self._ring.secret_for(head[1 : 1 + ID_BYTES])
        seed = head[1 + ID_BYTES :]
        content = self._sealing.unseal(secret, seed, sealed, head + self._bound, purpose=_PURPOSE)
        if content is None or head[:1] != _VERSION:
            raise InvalidTokenError("this is not a valid ticket")
        return _read(content)


def _read(content: bytes) -> Ticket:
    try:
        expiry, exact, *lengths = _HEAD.unpack_from(content)
        texts, at = [], _HEAD.size
        for length in lengths:
            texts.append(content[at : at + length].decode())
            at += length
    except (StructError, UnicodeDecodeError):
        # Authentic, so of a later release that shares the version byte: not for this one to guess at.
        raise InvalidTokenError("this is not a valid ticket") from None
    topic, tenant, holder = texts
    return Ticket(topic, bool(exact), tenant, holder, int.from_bytes(expiry) / 1000)
