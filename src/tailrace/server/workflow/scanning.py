"""The members of a JSON object one by one, so that some of them can be taken as the text that they are. Pure.

Some thirty times slower than the decoder that batches are read with first, and stricter about nothing: it is for what
that one refuses, and this one says whether it is wrong, and where.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import NoReturn, TypeAlias

Read: TypeAlias = Callable[[str, int], tuple[object, int]]
"""Reads a value that begins at an index; returns it, and the index after it."""

_SPACE = re.compile(r"[ \t\n\r]*")


def whole(text: str, read: Read) -> object:
    """Return the one value of a text.

    Raises:
        ValueError: The text is no JSON.
        RecursionError: It is nested too deeply.
    """
    value, at = read(text, _after_space(text, 0))
    if _after_space(text, at) != len(text):
        raise json.JSONDecodeError("Extra data", text, at)
    return value


def value(text: str, at: int) -> tuple[object, int]:
    """Read any value."""
    found: tuple[object, int] = _DECODER.raw_decode(text, at)
    return found


def verbatim(text: str, at: int) -> tuple[bytes, int]:
    """Read any value as the bytes that it is."""
    # Only for its end: numbers stay text, so that none is too long or too large.
    _, end = _SKIPPING.raw_decode(text, at)
    return text[at:end].encode(), end


def members(readers: Mapping[str, Read]) -> Read:
    """Return what reads an object, some members of it in their own ways; anything else is read as a value."""

    def read(text: str, at: int) -> tuple[object, int]:
        if not text.startswith("{", at):
            return value(text, at)
        found: dict[str, object] = {}
        at = _after_space(text, at + 1)
        if text.startswith("}", at):
            return found, at + 1
        while True:
            if not text.startswith('"', at):
                raise json.JSONDecodeError("Expecting a name in double quotes", text, at)
            name, at = scanstring(text, at + 1)
            at = _after_space(text, at)
            if not text.startswith(":", at):
                raise json.JSONDecodeError("Expecting ':'", text, at)
            found[name], at = readers.get(name, value)(text, _after_space(text, at + 1))
            at = _after_space(text, at)
            if text.startswith("}", at):
                return found, at + 1
            at = _after_comma(text, at)

    return read


def elements(each: Read, most: int) -> Read:
    """Return what reads an array; anything else is read as a value.

    Args:
        each: Reads an element.
        most: With one more than this many elements it stops with ``TooManyError``.
    """

    def read(text: str, at: int) -> tuple[object, int]:
        if not text.startswith("[", at):
            return value(text, at)
        found: list[object] = []
        at = _after_space(text, at + 1)
        if text.startswith("]", at):
            return found, at + 1
        while True:
            element, at = each(text, at)
            found.append(element)
            if len(found) > most:
                raise TooManyError
            at = _after_space(text, at)
            if text.startswith("]", at):
                return found, at + 1
            at = _after_comma(text, at)

    return read


class TooManyError(Exception):
    """There are more elements than anybody may send: the rest is not looked at."""


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()


def _after_comma(text: str, at: int) -> int:
    if not text.startswith(",", at):
        raise json.JSONDecodeError("Expecting ','", text, at)
    return _after_space(text, at + 1)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        # Written again it would be no JSON.
        raise ValueError("a number is out of range")
    return number


_DECODER = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite)
_SKIPPING = json.JSONDecoder(parse_constant=_no_constant, parse_float=str, parse_int=str)
