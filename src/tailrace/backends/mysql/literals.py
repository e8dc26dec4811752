"""Values as they stand in a statement. Statements are bytes: a payload is never text, and no driver converts it.

Every connection has a sql_mode of ours, in which a backslash escapes.
"""

from collections.abc import Iterable


def text(value: bytes) -> bytes:
    """Return a name or a reason: short, in hexadecimal."""
    return b"x'" + value.hex().encode() + b"'"


def nullable(value: bytes | None) -> bytes:
    """Return ``NULL``, or the value."""
    return b"NULL" if value is None else text(value)


def payload(value: bytes) -> bytes:
    """Return a payload; at most twice as long as it."""
    return b"_binary'" + value.replace(b"\\", b"\\\\").replace(b"'", b"\\'") + b"'"


def hexadecimal(value: bytes) -> bytes:
    """Return a payload that is understood under any sql_mode; twice as long as it."""
    return b"_binary x'" + value.hex().encode() + b"'"


def names(topics: Iterable[str]) -> bytes:
    """Return topic names for ``IN (...)``."""
    return b",".join([text(topic.encode()) for topic in topics])
