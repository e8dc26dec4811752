"""A value to the bytes of its datum."""

import math
import struct

from tailrace.workflow.avro.values import LEAST, MAX_DEPTH, MOST, Branch, EnvelopeError, shallower


def write(value: object) -> bytes:
    """Return the datum of a value.

    Raises:
        EnvelopeError: It, or something in it, is none of: ``None``, a boolean, a 64-bit integer, a finite float, bytes,
            text, a list, a dictionary with text as keys; or it is nested too deep, itself included.
    """
    out = bytearray()
    _write(out, value, MAX_DEPTH)
    return bytes(out)


def _write(out: bytearray, value: object, depth: int) -> None:
    match value:
        case None:
            _write_long(out, Branch.NULL)
        case bool():
            _write_long(out, Branch.BOOLEAN)
            out.append(value)
        case int():
            if not LEAST <= value <= MOST:
                raise EnvelopeError("an integer has more than 64 bits", reason="integer_overflow")
            _write_long(out, Branch.LONG)
            _write_long(out, value)
        case float():
            if not math.isfinite(value):
                raise EnvelopeError("a float is not finite", reason="non_finite_float")
            _write_long(out, Branch.DOUBLE)
            out += struct.pack("<d", value)
        case bytes():
            _write_long(out, Branch.BYTES)
            _write_bytes(out, value)
        case str():
            _write_long(out, Branch.STRING)
            _write_bytes(out, _utf8(value))
        case list():
            _write_long(out, Branch.ARRAY)
            _write_list(out, value, shallower(depth))
        case dict():
            _write_long(out, Branch.MAP)
            _write_map(out, value, shallower(depth))
        case _:
            raise EnvelopeError(f"{type(value).__name__} is no Avro value", reason="unsupported_value_type")


def _write_list(out: bytearray, items: list[object], depth: int) -> None:
    if items:
        _write_long(out, len(items))
        for item in items:
            _write(out, item, depth)
    _write_long(out, 0)


def _write_map(out: bytearray, entries: dict[object, object], depth: int) -> None:
    if entries:
        _write_long(out, len(entries))
        for key, value in entries.items():
            if not isinstance(key, str):
                raise EnvelopeError(f"a key is {type(key).__name__}, not text", reason="invalid_map_key")
            _write_bytes(out, _utf8(key))
            _write(out, value, depth)
    _write_long(out, 0)


def _write_bytes(out: bytearray, value: bytes) -> None:
    _write_long(out, len(value))
    out += value


def _write_long(out: bytearray, value: int) -> None:
    rest = (value << 1) ^ (value >> 63)
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as wrong:
        raise EnvelopeError("text holds a lone surrogate", reason="unsupported_value_type") from wrong
