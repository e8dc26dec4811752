"""A batch of items before its transaction: checked as JSON, and with what tells a retry from a conflict. Pure."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tailrace.workflow.errors import InvalidFieldsError, TooLargeError
from tailrace.workflow.model import NewItem
from tailrace.workflow.nesting import is_too_deep
from tailrace.workflow.rules import Proposed

MAX_BATCH_BYTES = 4 * 2**20
"""Bytes of payloads in one append: every database takes them as one statement."""

_LONG_NUMBER = 4000
_SHORT_DECIMAL = 16
"""Characters, one of which is a point or an exponent's letter: fifteen digits at most."""

_LEAST, _MOST = 2.3e-308, 1.7e308
"""What a float holds with all of its digits."""

_INSTEAD = "\0"
"""The only member of an object that stands for what Python has no exact value for."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Items, and what the rules want to know of each."""

    items: Sequence[NewItem]
    proposed: Sequence[Proposed]

    @property
    def keys(self) -> Sequence[bytes]:
        """The keys in it."""
        return list({item.key.encode() for item in self.proposed if item.key is not None})


def batch_of(items: Sequence[NewItem]) -> Batch:
    """Return a batch of items that are within their bounds.

    Raises:
        InvalidFieldsError: A payload is no JSON.
        TooLargeError: There is more than is taken at once.
    """
    errors: dict[str, list[str]] = {}
    proposed: list[Proposed] = []
    size = 0
    for number, item in enumerate(items):
        reference = _reference(item.payload_reference)
        if reference is None:
            errors[f"items.{number}.payload_reference"] = ["must be a text or an object of JSON, nested not too deep"]
            continue
        if not isinstance(item.payload, bytes):
            errors[f"items.{number}.payload"] = ["must be bytes"]
            continue
        size += len(item.payload) + (len(reference) if isinstance(item.payload_reference, dict) else 0)
        if size > MAX_BATCH_BYTES:
            break
        try:
            proposed.append(Proposed(item.idempotency_key or None, _digest(item, reference)))
        except (ValueError, RecursionError):
            errors[f"items.{number}.payload"] = ["must be JSON in UTF-8, nested not too deep"]
    if errors:
        raise InvalidFieldsError(errors)
    if size > MAX_BATCH_BYTES:
        raise TooLargeError(size, MAX_BATCH_BYTES)
    return Batch(items, proposed)


def _reference(reference: object) -> str | None:
    """Return a reference as JSON; ``None`` if it can not be written so."""
    try:
        text = json.dumps(reference, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return None
    return None if is_too_deep(text.encode()) else text


def _digest(item: NewItem, reference: str) -> bytes:
    """Return a digest of what an item carries, however its JSON was written."""
    if is_too_deep(item.payload):
        raise ValueError("nested too deep")
    # No two payloads that are different become one for what Python makes of them.
    payload = json.loads(
        item.payload.decode(),
        parse_int=_whole,
        parse_float=_decimal,
        parse_constant=_refused,
        object_pairs_hook=_object,
    )
    canonical = json.dumps([payload, reference, item.payload_codec], sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(canonical.encode(), digest_size=16).digest()


def _object(members: list[tuple[str, Any]]) -> Any:  # noqa: ANN401 - a value of JSON
    found = dict(members)
    # A name that is there twice is stored twice. And none is taken for what stands for something else here.
    return found if len(found) == len(members) and _INSTEAD not in found else {_INSTEAD: members}


def _whole(text: str) -> Any:  # noqa: ANN401 - a value of JSON
    return int(text) if len(text) < _LONG_NUMBER else {_INSTEAD: text}


def _decimal(text: str) -> Any:  # noqa: ANN401 - a value of JSON
    number = float(text)
    if not _LEAST <= abs(number) <= _MOST:
        return {_INSTEAD: text}
    # So few digits are never rounded to those of another number; of more, only those that a float has.
    is_exact = len(text) <= _SHORT_DECIMAL or Decimal(text) == Decimal(repr(number))
    return number if is_exact else {_INSTEAD: text}


def _refused(text: str) -> Any:  # noqa: ANN401 - never returns
    raise ValueError(text)
