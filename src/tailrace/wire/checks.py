"""Checks of what the other side said, by type and range: in Python, what JSON calls true is a number."""

from typing import TypeVar

from tailrace import arguments
from tailrace.boundaries import MAX_POSITION
from tailrace.errors import InvalidArgumentError
from tailrace.wire.framing import MalformedError

T = TypeVar("T")


def whole(value: object, what: str, most: int = MAX_POSITION, least: int = 0) -> int:
    """Return a whole number of a range."""
    if type(value) is not int or not least <= value <= most:
        raise MalformedError(f"{what} is not a whole number from {least} to {most}")
    return value


def text(value: object, what: str) -> str:
    """Return text."""
    if not isinstance(value, str):
        raise MalformedError(f"{what} is not text")
    return value


def flag(value: object, what: str) -> bool:
    """Return true or false."""
    if not isinstance(value, bool):
        raise MalformedError(f"{what} is neither true nor false")
    return value


def seconds(value: object, what: str) -> float:
    """Return a number of seconds above 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9:
        raise MalformedError(f"{what} is not a number of seconds")
    return float(value)


def moment(value: object, what: str) -> float:
    """Return seconds since the epoch."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
        raise MalformedError(f"{what} is not a time")
    return float(value)


def items(value: object, what: str, length: int | None = None) -> list[object]:
    """Return a list, of a given length if there is one."""
    if not isinstance(value, list) or length not in (None, len(value)):
        raise MalformedError(f"{what} is not a list{'' if length is None else f' of {length}'}")
    return value


def members(value: object, what: str, *names: str) -> list[object]:
    """Return the values of an object that has exactly these names, in their order."""
    if not isinstance(value, dict) or value.keys() != set(names):
        raise MalformedError(f"{what} is not an object with {', '.join(names)}")
    return [value[name] for name in names]


def topic(value: object) -> str:
    """Return the name of a topic that a store could keep."""
    try:
        return arguments.topic_name(value)
    except InvalidArgumentError as error:
        raise MalformedError(str(error)) from None
