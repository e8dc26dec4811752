"""One key and its line in a key ring: ``id secret created state``. Pure, but for the system's random numbers.

No message and no ``repr`` shows a secret, also not one that is damaged: half of it may be right.
"""

import base64
import enum
import os
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime

from tailrace.errors import KeyRingError

ID_BYTES = 4
SECRET_BYTES = 32

_ID = re.compile(r"[0-9a-f]{8}")
_SECRET = re.compile(r"[A-Za-z0-9_-]{43}")
_CREATED = "%Y-%m-%dT%H:%M:%SZ"
_DISTINCT_BYTES = 8
"""Of 32 random bytes far more differ; fewer are a placeholder that somebody typed."""


class KeyState(enum.Enum):
    """What a key is used for."""

    STAGED = "staged"
    """Opens tokens and seals none: it is on its way to every process."""
    ACTIVE = "active"
    """Opens tokens; the newest active key of a ring seals them."""
    RETIRED = "retired"
    """Neither: its tokens are as invalid as if they had never been made."""


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a ring.

    Attributes:
        id: Four bytes that stand readable in each token; random, so that they tell nothing else.
        secret: 32 random bytes.
        created: When it was made, in UTC, to the second.
        state: What it is used for.
    """

    id: bytes
    secret: bytes = field(repr=False)
    created: datetime
    state: KeyState

    @classmethod
    def fresh(cls, *, created: datetime, state: KeyState = KeyState.ACTIVE) -> "Key":
        """Return a new random key."""
        return cls(os.urandom(ID_BYTES), os.urandom(SECRET_BYTES), created.replace(microsecond=0), state)

    @classmethod
    def from_line(cls, line: str) -> "Key":
        """Return the key of one line.

        Raises:
            KeyRingError: The line is wrong. The message says how, and never quotes it.
        """
        words = line.split()
        if len(words) != 4:
            raise KeyRingError(f"a key has four words (id, secret, created, state), not {len(words)}")
        identity, secret, created, state = words
        if not _ID.fullmatch(identity):
            raise KeyRingError("the first word, the id, must be 8 lower-case hexadecimal characters")
        return cls(bytes.fromhex(identity), _secret(secret), _created(created), _state(state))

    @property
    def line(self) -> str:
        """The key as a line of a ring, secret included."""
        return f"{self.id.hex()} {_text(self.secret)} {self.created.strftime(_CREATED)} {self.state.value}"


def _text(secret: bytes) -> str:
    return base64.urlsafe_b64encode(secret).decode("ascii").rstrip("=")


def _secret(text: str) -> bytes:
    if not _SECRET.fullmatch(text):
        raise KeyRingError("the second word, the secret, must be 32 bytes in URL-safe base64: 43 characters")
    secret = base64.urlsafe_b64decode(f"{text}=")
    # The last character has two bits to spare: a secret has exactly one spelling.
    if _text(secret) != text:
        raise KeyRingError("the second word, the secret, is damaged at its end")
    if len(set(secret)) < _DISTINCT_BYTES:
        raise KeyRingError("the second word, the secret, is not random: make one with tailrace keys")
    return secret


def _created(text: str) -> datetime:
    try:
        return datetime.strptime(text, _CREATED).replace(tzinfo=UTC)
    except ValueError:
        raise KeyRingError("the third word, created, must look like 2026-01-31T12:00:00Z") from None


def _state(text: str) -> KeyState:
    try:
        return KeyState(text)
    except ValueError:
        raise KeyRingError("the fourth word, the state, must be staged, active or retired") from None
