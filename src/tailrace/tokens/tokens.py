"""Cursors to tokens and back. A token is 112 URL-safe characters, of 84 bytes:

    version 1 | key id 4 | seed 24 | sealed: kind 1, expiry 6, cursor 32 | tag 16

The length never changes and is a multiple of three: nothing shows in it, and base64 leaves no bit that could be
flipped unseen. What stands before the sealed part, and topic, tenant and audience, are authenticated with it.
"""

import base64
import enum
import os
import re
import time
from dataclasses import dataclass, field
from struct import Struct

from tailrace import limits
from tailrace.arguments import topic_name
from tailrace.cursors import CursorCodec
from tailrace.errors import InvalidArgumentError, InvalidTokenError, InvalidTypeError
from tailrace.options import positive_seconds
from tailrace.records import TopicCursor
from tailrace.tokens.keys import ID_BYTES
from tailrace.tokens.ring import KeyRing

_VERSION = b"\x01"
_SEED_BYTES = 24
_HEAD_BYTES = len(_VERSION) + ID_BYTES + _SEED_BYTES
_CONTENT = Struct(">B6s32s")
_BYTES = _HEAD_BYTES + _CONTENT.size + 16
_TOKEN = re.compile(rf"[A-Za-z0-9_-]{{{_BYTES * 4 // 3}}}")
_LENGTHS = Struct(">HH")
_BLANK = "A" * (_BYTES * 4 // 3)
_EXPIRED = _CONTENT.pack(1, (1).to_bytes(6), bytes(32))


class TokenKind(enum.Enum):
    """What a token is for. Only who opens it can tell."""

    RESUME = 1
    """Go on after the cursor."""
    END = 2
    """The stream had ended: there is nothing to come back for."""
    GAP = 3
    """The history after the cursor was gone: going on would skip records."""


@dataclass(frozen=True, slots=True)
class Opened:
    """What an authentic token holds. Its ``repr`` does not show the cursor.

    Attributes:
        cursor: Subscribe from here. Its history may be gone: then that raises ``CursorUnavailableError``.
        kind: What the token is for.
        expires_at: Seconds since the epoch; ``None`` if it never expires.
    """

    cursor: TopicCursor = field(repr=False)
    kind: TokenKind
    expires_at: float | None

    @property
    def terminal(self) -> bool:
        """Whether a reader that comes with it is told to stay away."""
        return self.kind is not TokenKind.RESUME


class Tokens:
    """Seals and opens the tokens of one audience and tenant.

    Immutable, thread-safe, good in forked children, and cheap to make: one for each request is fine. Neither
    logs nor shows tokens, cursors or keys. Calls compute for some ten microseconds and never block.
    """

    __slots__ = ("_bound", "_lifetime", "_ring", "_sealing")

    def __init__(self, ring: KeyRing, *, audience: str, tenant: str = "", lifetime: float | None = None) -> None:
        """Bind tokens to who may use them.

        Args:
            ring: The keys.
            audience: Who the tokens are for: the deployment, and the user if tokens must not be passed on.
            tenant: Whose topics they are, where several have topics of the same names.
            lifetime: Seconds that a token is good for after it was sealed; ``None``: as long as its key.

        Raises:
            InvalidArgumentError: A text is too long or has no UTF-8 form, the audience is empty, or the lifetime
                is not above zero.
            ModuleNotFoundError: The extra ``tokens`` is not installed.
        """
        # Here and not above: rings are made and rotated on machines without the library.
        from tailrace.tokens import sealing

        if not isinstance(ring, KeyRing):
            raise InvalidTypeError(f"ring must be a KeyRing, not {type(ring).__name__}")
        if lifetime is not None:
            positive_seconds("lifetime", lifetime)
        if audience == "":
            raise InvalidArgumentError("audience must not be empty: tokens of other deployments would be good here")
        whose = _party("audience", audience), _party("tenant", tenant)
        self._bound = _LENGTHS.pack(*map(len, whose)) + b"".join(whose)
        self._lifetime = lifetime
        self._ring = ring
        self._sealing = sealing

    @property
    def lifetime(self) -> float | None:
        """Seconds that a token is good for after it was sealed; ``None``: as long as its key."""
        return self._lifetime

    def seal(self, topic: str, cursor: TopicCursor, *, kind: TokenKind = TokenKind.RESUME) -> str:
        """Return a token for a cursor of this topic; two for one cursor differ.

        Raises:
            InvalidTopicNameError: That is no name of a topic.
            CursorUnavailableError: That is no cursor, or one of another topic.
        """
        topic = topic_name(topic)
        CursorCodec(topic).decode(cursor)
        expiry = 0 if self._lifetime is None else max(1, int((time.time() + self._lifetime) * 1000))
        content = _CONTENT.pack(kind.value, expiry.to_bytes(6), bytes.fromhex(cursor))
        key = self._ring.sealing
        # From the system each time: a generator in this process would give parent and child the same numbers.
        seed = os.urandom(_SEED_BYTES)
        head = _VERSION + key.id + seed
        sealed = self._sealing.seal(key.secret, seed, content, head + self._bound + topic.encode())
        return base64.urlsafe_b64encode(head + sealed).decode("ascii")

    def open(self, topic: str, token: object) -> Opened:
        """Return what a token of this topic, tenant and audience holds.

        Raises:
            InvalidTokenError: It is not one, for whatever reason: damaged, somebody else's, expired, of a key
                that is retired or unknown. Error, message and, but for noise, time are the same for all.
            InvalidTopicNameError: That is no name of a topic.
        """
        opened = self._opened(topic_name(topic), token)
        # Raised where no other exception is on its way: a cause or context would tell the cases apart.
        if opened is None:
            raise InvalidTokenError("this is not a valid token")
        return opened

    def _opened(self, topic: str, token: object) -> Opened | None:
        """Do the same work whatever is wrong, so that time does not tell: nothing returns early.

        What can not be a token is taken for a blank one, and what does not authenticate is read as one that expired.
        """
        text = str.__str__(token) if isinstance(token, str) and _TOKEN.fullmatch(token) else _BLANK
        raw = base64.urlsafe_b64decode(text)
        head, sealed = raw[:_HEAD_BYTES], raw[_HEAD_BYTES:]
        identity, seed = head[1 : 1 + ID_BYTES], head[1 + ID_BYTES :]
        secret = self._ring.secret_for(identity)
        content = self._sealing.unseal(secret, seed, sealed, head + self._bound + topic.encode())
        return _read(_EXPIRED if content is None or head[:1] != _VERSION else content)


def _read(content: bytes) -> Opened | None:
    number, expiry_bytes, cursor = _CONTENT.unpack(content)
    expiry = int.from_bytes(expiry_bytes)
    if expiry and time.time() * 1000 >= expiry:
        return None
    try:
        kind = TokenKind(number)
    except ValueError:
        return None
    return Opened(TopicCursor(cursor.hex()), kind, expiry / 1000 if expiry else None)


def _party(what: str, name: object) -> bytes:
    if not isinstance(name, str):
        raise InvalidTypeError(f"{what} must be text, not {type(name).__name__}")
    try:
        encoded = name.encode()
    except UnicodeEncodeError:
        raise InvalidArgumentError(f"{what} must not hold a lone surrogate: it has no UTF-8 form") from None
    if len(encoded) > limits.MAX_TOKEN_PARTY_BYTES:
        raise InvalidArgumentError(f"{what} may have {limits.MAX_TOKEN_PARTY_BYTES} bytes of UTF-8")
    return encoded
