"""What is an Avro value, and how deep: what both directions keep to."""

import enum

from tailrace.errors import InvalidArgumentError

MAX_DEPTH = 128
"""Arrays and maps within each other, at most: every published client reads that much without overflowing its stack."""

LEAST, MOST = -(2**63), 2**63 - 1
"""The ends of the integers."""


class Branch(enum.IntEnum):
    """The branches of the schema's one union, in its order."""

    NULL = 0
    BOOLEAN = 1
    LONG = 2
    DOUBLE = 3
    BYTES = 4
    STRING = 5
    ARRAY = 6
    MAP = 7


class EnvelopeError(InvalidArgumentError):
    """A value has no envelope, or an envelope holds no value.

    Attributes:
        reason: The protocol's word for it: ``invalid_payload_framing``, ``unsupported_payload_codec``,
            ``unsupported_payload_schema``, ``unsupported_value_type``, ``integer_overflow``, ``non_finite_float``,
            ``invalid_map_key``; and ``too_deep``, which is ours.
    """

    def __init__(self, message: str, *, reason: str = "invalid_payload_framing") -> None:
        super().__init__(message)
        self.reason = reason


def shallower(depth: int) -> int:
    """Return the depth that is left inside an array or a map.

    Raises:
        EnvelopeError: None was left.
    """
    # Also what ends a list that holds itself.
    if not depth:
        raise EnvelopeError(f"more than {MAX_DEPTH} arrays and maps within each other", reason="too_deep")
    return depth - 1
