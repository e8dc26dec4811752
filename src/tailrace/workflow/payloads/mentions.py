"""Which payloads an item refers to, and whose business each one is: the registry's, a driver's, nobody's. No I/O."""

import enum
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tailrace.workflow.envelope import CODEC
from tailrace.workflow.payloads import places
from tailrace.workflow.payloads.errors import PayloadUnsupportedError
from tailrace.workflow.payloads.references import (
    RUNTIME_SCHEMA,
    Digest,
    DirectReference,
    RuntimeReference,
    is_reference_id,
)

_ESCAPED_LETTER = re.compile(rb"\\u00[567]")
"""A key may be written with escapes, also where none is needed."""


class Kind(enum.Enum):
    """Whose business a reference is."""

    REGISTRY = "registry"
    """Verified, claimed and one day deleted, by its id."""

    DRIVER = "driver"
    """Likewise, by its address in the storage that is configured here."""

    OPAQUE = "opaque"
    """Stored and returned as it is; never fetched, claimed or deleted."""


@dataclass(frozen=True, slots=True)
class Mention:
    """One payload that an item refers to.

    Attributes:
        name: Its id, its address, or whatever text it is.
        digest: What its bytes have to be, where the reference says so.
    """

    kind: Kind
    name: str
    digest: Digest | None = None


def classify(text: str, namespace: str, base: str | None, digest: Digest | None = None) -> Mention:
    """Say whose business a text is.

    Args:
        namespace: Of the item: addresses in the folder of another one are opaque.
        base: What the addresses of the configured driver begin with; ``None`` without one.
    """
    if is_reference_id(text):
        return Mention(Kind.REGISTRY, text, digest)
    inside = None if base is None else places.within(base, namespace, text)
    if inside is None:
        return Mention(Kind.OPAQUE, text, digest)
    if len(inside) == 1 and is_reference_id(inside[0]):
        # The same object, by another name: it must not have two owners.
        return Mention(Kind.REGISTRY, inside[0], digest)
    return Mention(Kind.DRIVER, text, digest)


def mentions(payload: bytes, payload_reference: object, namespace: str, base: str | None) -> tuple[Mention, ...]:
    """Return what an item refers to, each payload once.

    Args:
        payload: JSON text, as the item has it.
        payload_reference: A text, or a JSON object; one without the schema of the registry's references is opaque.

    Raises:
        PayloadUnsupportedError: It has the form of a reference, and is none, or two that differ about one payload.
    """
    found: dict[tuple[Kind, str], Mention] = {}
    for mention in _all(payload, payload_reference, namespace, base):
        key = (mention.kind, mention.name)
        before = found.get(key, mention)
        if before.digest and mention.digest and before.digest != mention.digest:
            raise PayloadUnsupportedError("two references of one item disagree about the same payload")
        found[key] = before if before.digest else mention
    return tuple(found.values())


def _all(payload: bytes, payload_reference: object, namespace: str, base: str | None) -> Iterator[Mention]:
    match _external_form(payload):
        case {"external_payload": document, **rest}:
            runtime = RuntimeReference.parse(document)
            _check_rest(rest)
            yield Mention(Kind.REGISTRY, runtime.reference_id, runtime.digest)
        case {"external_storage": document, **rest}:
            direct = DirectReference.parse(document)
            _check_rest(rest)
            yield classify(direct.uri, namespace, base, direct.digest)
    match payload_reference:
        case None:
            return
        case str():
            yield classify(payload_reference, namespace, base)
        case {"schema": schema} if schema == RUNTIME_SCHEMA:
            runtime = RuntimeReference.parse(payload_reference)
            yield Mention(Kind.REGISTRY, runtime.reference_id, runtime.digest)


def _external_form(payload: bytes) -> object:
    """Return the payload, if it may be one of the two forms; most are not even parsed."""
    if b"external_" not in payload and not _ESCAPED_LETTER.search(payload):
        return None
    if not payload.lstrip().startswith(b"{"):
        return None
    return json.loads(payload)


def _check_rest(rest: dict[object, object]) -> None:
    if rest.keys() != {"codec"} or rest["codec"] != CODEC:
        raise PayloadUnsupportedError("an external payload is an object with codec, avro, and one reference")
