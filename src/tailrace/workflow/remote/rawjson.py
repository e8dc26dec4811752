"""JSON whose own text matters: taken apart without losing how a payload was written. Pure."""

import json
import re
from typing import NoReturn

from tailrace.workflow.errors import InvalidFieldsError

_SPACE = re.compile(r"[ \t\n\r]*")


def checked_json(payload: bytes, field: str) -> bytes:
    """Return what is one JSON value and nothing else: it is put into the text of a request as it is.

    Raises:
        InvalidFieldsError: It is not.
    """
    try:
        _DECODER.decode(payload.decode())
    except (ValueError, RecursionError) as exc:
        raise InvalidFieldsError({field: ["must be JSON text in UTF-8"]}) from exc
    return payload


def members(text: str) -> dict[str, str]:
    """Return the members of an object, each as its own text.

    Raises:
        ValueError: It is no object.
    """
    found: dict[str, str] = {}
    at = _after(text, 0, "{")
    if text[at : at + 1] == "}":
        return found
    while True:
        name, at = _DECODER.raw_decode(text, at)
        at = _after(text, at, ":")
        _, end = _DECODER.raw_decode(text, at)
        found[str(name)] = text[at:end]
        at = _skip(text, end)
        if text[at : at + 1] == "}":
            return found
        at = _after(text, at, ",")


def elements(text: str) -> list[str]:
    """Return the elements of an array, each as its own text.

    Raises:
        ValueError: It is no array.
    """
    found: list[str] = []
    at = _after(text, 0, "[")
    if text[at : at + 1] == "]":
        return found
    while True:
        _, end = _DECODER.raw_decode(text, at)
        found.append(text[at:end])
        at = _skip(text, end)
        if text[at : at + 1] == "]":
            return found
        at = _after(text, at, ",")


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    assert match is not None
    return match.end()


def _after(text: str, at: int, mark: str) -> int:
    at = _skip(text, at)
    if text[at : at + 1] != mark:
        raise ValueError(f"{mark} is missing")
    return _skip(text, at + 1)


def _refused(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


# Numbers are left alone: they may be larger, or longer, than Python reads.
_DECODER = json.JSONDecoder(parse_constant=_refused, parse_int=str, parse_float=str)
