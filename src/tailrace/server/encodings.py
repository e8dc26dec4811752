"""How payloads stand in JSON, and in the lines of a batch: as text, as JSON, or as base64. Pure."""

import base64
import json
from collections.abc import Callable, Mapping
from typing import NamedTuple


class Encoded(NamedTuple):
    """A payload in an answer.

    Attributes:
        data: JSON that stands for it.
        encoding: What it became: one of the names of ``ENCODERS``.
    """

    data: str
    encoding: str


def _as_base64(payload: bytes) -> Encoded:
    return Encoded(f'"{base64.b64encode(payload).decode("ascii")}"', "base64")


def _as_text(payload: bytes) -> Encoded:
    try:
        return Encoded(json.dumps(payload.decode(), ensure_ascii=False), "text")
    except UnicodeDecodeError:
        return _as_base64(payload)


def _as_json(payload: bytes) -> Encoded:
    # Read to see whether it is JSON, and handed on as it came. Written again, 1e400 would be none any more, digits
    # would be lost, and an escaped half of a character has no UTF-8.
    try:
        text = payload.decode()
        json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return _as_text(payload)
    return Encoded(text, "json")


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _from_base64(line: bytes) -> bytes:
    try:
        return base64.b64decode(line, validate=True)
    except ValueError:
        raise ValueError("this line is not base64") from None


ENCODERS: Mapping[str, Callable[[bytes], Encoded]] = {"text": _as_text, "json": _as_json, "base64": _as_base64}
"""What payloads become in a page. One that can not become it, becomes text, or else base64."""

DECODERS: Mapping[str, Callable[[bytes], bytes]] = {"text": bytes, "base64": _from_base64}
"""What a line of a batch stands for. They raise ``ValueError`` for a line that stands for nothing."""
