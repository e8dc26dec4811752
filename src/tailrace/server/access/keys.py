"""One access key: as text for its holder, ``trk_ID_SECRET``, and as a line with its hash for the server.

The hash is one round of SHA-256. Slow hashes protect what people choose, because that can be guessed. 256 random
bits can not, and a slow hash would let strangers keep the server busy. Lines: ``id hash name tenant expires scope...``.
"""

import base64
import hashlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from tailrace.errors import InvalidArgumentError, KeyRingError
from tailrace.server.access.scopes import right_of, scope_of
from tailrace.server.principals import Principal, Right

PREFIX = "trk_"
"""What a key begins with: a search through code and logs for keys that leaked finds it."""

_KEY = re.compile(r"trk_([0-9a-f]{12})_[A-Za-z0-9_-]{43}")
_ID = re.compile(r"[0-9a-f]{12}")
_HASH = re.compile(r"[0-9a-f]{64}")
_WORD = re.compile(r"[\x21-\x7e]{1,100}")
_EXPIRES = "%Y-%m-%dT%H:%M:%SZ"
_NONE = "-"


@dataclass(frozen=True, slots=True)
class AccessKey:
    """What a server knows of a key.

    Attributes:
        id: Public: stands readable in the key.
        digest: SHA-256 of the whole key.
        name: Whose it is, one word.
        rights: What it allows.
        tenant: Whose topics; empty where there are no tenants.
        expires_at: When it is good no more, in UTC; ``None`` for never.
    """

    id: str
    digest: bytes = field(repr=False)
    name: str
    rights: tuple[Right, ...]
    tenant: str = ""
    expires_at: datetime | None = None

    @classmethod
    def fresh(
        cls, name: str, scopes: Iterable[str], *, tenant: str = "", expires_at: datetime | None = None
    ) -> tuple[str, "AccessKey"]:
        """Return a new key as text, which is kept nowhere else, and what the server keeps.

        Raises:
            InvalidArgumentError: The name or the tenant is no word, or there is no scope, or a wrong one.
        """
        for what, word in (("name", name), ("tenant", tenant or "any")):
            if not _WORD.fullmatch(word) or word == _NONE or word.startswith("#") or ";" in word:
                raise InvalidArgumentError(f"the {what} of a key must be one word in ASCII")
        rights = tuple(right_of(scope) for scope in scopes)
        if not rights:
            raise InvalidArgumentError("a key without a scope allows nothing: give one, as read:run:*")
        identity = os.urandom(6).hex()
        text = f"{PREFIX}{identity}_{base64.urlsafe_b64encode(os.urandom(32)).decode('ascii').rstrip('=')}"
        return text, cls(identity, digest_of(text), name, rights, tenant, expires_at)

    @classmethod
    def from_line(cls, line: str) -> "AccessKey":
        """Return the key of one line.

        Raises:
            KeyRingError: The line is wrong. The message says how, and never quotes it.
        """
        words = line.split()
        if len(words) < 6:
            raise KeyRingError("an access key has six words or more: id, hash, name, tenant, expires, scopes")
        identity, digest, name, tenant, expires, *scopes = words
        if not _ID.fullmatch(identity) or not _HASH.fullmatch(digest):
            raise KeyRingError("the id must be 12 and the hash 64 lower-case hexadecimal characters")
        try:
            rights = tuple(right_of(scope) for scope in scopes)
        except InvalidArgumentError as error:
            raise KeyRingError(str(error)) from None
        return cls(identity, bytes.fromhex(digest), name, rights, "" if tenant == _NONE else tenant, _time(expires))

    @property
    def line(self) -> str:
        """The key as a line: no secret, but whoever can change it can let themselves in."""
        expires = self.expires_at.strftime(_EXPIRES) if self.expires_at else _NONE
        scopes = " ".join(map(scope_of, self.rights))
        return f"{self.id} {self.digest.hex()} {self.name} {self.tenant or _NONE} {expires} {scopes}"

    @property
    def principal(self) -> Principal:
        """Who holds it: a service, so it may exchange cursors."""
        until = self.expires_at.timestamp() if self.expires_at else None
        return Principal(f"key:{self.id}:{self.name}", self.rights, self.tenant, trusted=True, expires_at=until)


def digest_of(text: str) -> bytes:
    """Return what of a key is stored."""
    return hashlib.sha256(text.encode()).digest()


def id_of(text: str) -> str | None:
    """Return the id in a key; ``None`` if that is no key."""
    found = _KEY.fullmatch(text)
    return found[1] if found else None


def _time(text: str) -> datetime | None:
    if text == _NONE:
        return None
    try:
        return datetime.strptime(text, _EXPIRES).replace(tzinfo=UTC)
    except ValueError:
        raise KeyRingError("expires must look like 2026-01-31T12:00:00Z, or be -") from None
