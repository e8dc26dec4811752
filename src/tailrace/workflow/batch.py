"""A batch of items before its transaction: checked as JSON, and with what tells a retry from a conflict. Pure."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tailrace.workflow.errors import InvalidFieldsError, TooLargeError
from tailrace.workflow.model import NewItem
from tailrace.workflow.nesting import is_too_deep
from tailrace.workflow.rules import Proposed

MAX_BATCH_BYTES = 4 * 2**20
"""Bytes of payloads in one append: every database takes them as one statement."""

_LONG_NUMBER = 4000


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
    # No two numbers that are written differently become one for being too large for a float.
    payload = json.loads(item.payload.decode(), parse_int=_whole, parse_float=_decimal, parse_constant=_refused)
    canonical = json.dumps([payload, reference, item.payload_codec], sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(canonical.encode(), digest_size=16).digest()


def _whole(text: str) -> Any:  # noqa: ANN401 - a value of JSON
    return int(text) if len(text) < _LONG_NUMBER else f"\0{text}"


def _decimal(text: str) -> Any:  # noqa: ANN401 - a value of JSON
    number = float(text)
    return number if abs(number) <= 1.7e308 and number else f"\0{text}"


def _refused(text: str) -> Any:  # noqa: ANN401 - never returns
    raise ValueError(text)
