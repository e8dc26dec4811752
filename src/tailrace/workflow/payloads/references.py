"""What refers to a payload outside of the database: the two documents of the wire contract, read strictly, and ids.

A document that names one of the two schemas and is anything else is refused: it would be stored, and no reader could
read it. No I/O.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from tailrace.workflow import identifiers
from tailrace.workflow.envelope import CODEC
from tailrace.workflow.payloads.errors import PayloadIntegrityError, PayloadUnsupportedError

RUNTIME_SCHEMA = "durable-workflow.v2.runtime-external-payload-reference.v1"
DIRECT_SCHEMA = "durable-workflow.v2.external-payload-reference.v1"

MAX_URI_CHARS = 1024
"""Characters of the address in a direct reference: as long as the longest key of an S3 object."""

_ID = re.compile(f"ep_[{identifiers.ALPHABET}]{{{identifiers.CHARS}}}")
_SHA256 = re.compile("[0-9a-f]{64}")
_URI = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True)
class Digest:
    """What the bytes of a payload have to be: the text of its blob, in UTF-8.

    Attributes:
        codec: How the value is encoded.
        size_bytes: Of the text, not of what it encodes.
        sha256: Likewise; lower-case hexadecimal.
    """

    codec: str
    size_bytes: int
    sha256: str

    def __post_init__(self) -> None:
        if self.codec != CODEC:
            raise PayloadUnsupportedError(f"unsupported_payload_codec: the codec of a payload must be {CODEC}")
        if type(self.size_bytes) is not int or not 0 <= self.size_bytes < 2**63:
            raise PayloadUnsupportedError("size_bytes must be an integer, not negative")
        if not isinstance(self.sha256, str) or not _SHA256.fullmatch(self.sha256):
            raise PayloadUnsupportedError("sha256 must be 64 hexadecimal digits, lower case")

    @classmethod
    def of(cls, content: bytes) -> Self:
        """Return the digest that these bytes have."""
        return cls(CODEC, len(content), hashlib.sha256(content).hexdigest())

    def check(self, content: bytes, *, reference_id: str | None = None) -> None:
        """Refuse bytes that are not these.

        Raises:
            PayloadIntegrityError: They are not.
        """
        if Digest.of(content) != self:
            raise PayloadIntegrityError("the bytes are not those of the reference", reference_id=reference_id)


@dataclass(frozen=True, slots=True)
class RuntimeReference:
    """A payload in the registry of its namespace, whose storage is nobody else's business."""

    reference_id: str
    digest: Digest

    @classmethod
    def to(cls, namespace: str, digest: Digest) -> Self:
        """Return the reference of a payload that is uploaded to a namespace: the same one for the same bytes."""
        return cls(reference_id(namespace, digest), digest)

    @classmethod
    def parse(cls, document: object) -> Self:
        """Read a reference.

        Raises:
            PayloadUnsupportedError: It is not exactly that.
        """
        _check_keys(document, {"schema", "reference_id", "codec", "size_bytes", "sha256"})
        assert isinstance(document, Mapping)
        if document["schema"] != RUNTIME_SCHEMA:
            raise PayloadUnsupportedError("the schema of the reference is unknown")
        if not is_reference_id(document["reference_id"]):
            raise PayloadUnsupportedError("reference_id must be ep_ and 26 characters of Crockford's base32")
        return cls(document["reference_id"], _digest(document))

    @property
    def document(self) -> dict[str, object]:
        """The reference as it stands on the wire."""
        return {"schema": RUNTIME_SCHEMA, "reference_id": self.reference_id, **_members(self.digest)}


@dataclass(frozen=True, slots=True)
class DirectReference:
    """A payload that its producer has stored itself, by its address.

    Attributes:
        expires_at: When its producer means to remove it, in ISO 8601. Told to readers; nothing here acts on it.
    """

    uri: str
    digest: Digest
    expires_at: str | None = None

    @classmethod
    def parse(cls, document: object) -> Self:
        """Read a reference.

        Raises:
            PayloadUnsupportedError: It is not exactly that.
        """
        _check_keys(document, {"schema", "uri", "codec", "size_bytes", "sha256"}, {"expires_at"})
        assert isinstance(document, Mapping)
        uri, expires_at = document["uri"], document.get("expires_at")
        if document["schema"] != DIRECT_SCHEMA:
            raise PayloadUnsupportedError("the schema of the reference is unknown")
        if not isinstance(uri, str) or len(uri) > MAX_URI_CHARS or not _URI.fullmatch(uri):
            raise PayloadUnsupportedError(f"uri must have 1 to {MAX_URI_CHARS} printable characters of ASCII")
        if expires_at is not None and not _is_instant(expires_at):
            raise PayloadUnsupportedError("expires_at must be an instant with its offset from UTC, in ISO 8601")
        return cls(uri, _digest(document), expires_at)

    @property
    def document(self) -> dict[str, object]:
        """The reference as it stands on the wire."""
        expires = {} if self.expires_at is None else {"expires_at": self.expires_at}
        return {"schema": DIRECT_SCHEMA, "uri": self.uri, **_members(self.digest), **expires}


def reference_id(namespace: str, digest: Digest) -> str:
    """Return the id that a payload has in a namespace: a function of both, so that a repeated upload is the same one.

    The first 130 bits of the SHA-256 of namespace, codec and the SHA-256 of the bytes, in Crockford's base32. Another
    namespace has another id for the same bytes: ids tell nothing about what other namespaces hold.
    """
    parts = ("tailrace payload 1", namespace, digest.codec, digest.sha256)
    # No part holds a NUL, so no two sets of parts run together to one text.
    name = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()
    return "ep_" + identifiers.written(int.from_bytes(name, "big") >> (len(name) * 8 - identifiers.CHARS * 5))


def is_reference_id(text: object) -> bool:
    """Whether it has the form of an id of the registry."""
    return isinstance(text, str) and _ID.fullmatch(text) is not None


def _members(digest: Digest) -> dict[str, object]:
    return {"codec": digest.codec, "size_bytes": digest.size_bytes, "sha256": digest.sha256}


def _digest(document: Mapping[str, object]) -> Digest:
    codec, size, sha256 = document["codec"], document["size_bytes"], document["sha256"]
    # Types are looked at there.
    return Digest(codec, size, sha256)  # type: ignore[arg-type]


def _check_keys(document: object, required: set[str], optional: set[str] = frozenset()) -> None:  # type: ignore[assignment]
    if not isinstance(document, Mapping) or not required <= document.keys() <= required | optional:
        raise PayloadUnsupportedError(f"a reference is an object with {', '.join(sorted(required))}")


def _is_instant(text: object) -> bool:
    if not isinstance(text, str):
        return False
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
