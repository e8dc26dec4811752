"""The flag: where a topic is on its way. Two phases that are next to each other get along in one deployment.

phase           producers write      listeners read
BROADCAST       the channel          the channel
WRITE_BOTH      stream, channel      the channel
READ_DURABLE    stream, channel      the stream
DURABLE         the stream           the stream
"""

import enum
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase

from tailrace.errors import InvalidTypeError

OVERLAP = 30.0
"""Seconds that a listener follows both ways when he is handed over."""


class Phase(enum.Enum):
    """Where a topic is. Go one step at a time, in either direction, and wait until all processes are there."""

    BROADCAST = "broadcast"
    """As before: only the channel is used."""

    WRITE_BOTH = "write-both"
    """Producers write to both; listeners are still at the channel."""

    READ_DURABLE = "read-durable"
    """Producers still write to both; listeners are at the stream."""

    DURABLE = "durable"
    """Only the stream is used."""

    @property
    def writes_channel(self) -> bool:
        """Whether producers publish."""
        return self is not Phase.DURABLE

    @property
    def writes_stream(self) -> bool:
        """Whether producers append."""
        return self is not Phase.BROADCAST

    @property
    def reads_stream(self) -> bool:
        """Whether listeners are at the stream."""
        return self in (Phase.READ_DURABLE, Phase.DURABLE)


Flag = Callable[[str], Phase]
"""Returns the phase of a topic, by its name. Asked often, from any thread; must not block."""


def flag_of(phases: Mapping[str, Phase] | Flag) -> Flag:
    """Return the flag that patterns of names (``run:*``) stand for: the first that matches, else ``BROADCAST``.

    Raises:
        InvalidArgumentError: It is neither such a mapping nor a callable; or, from the flag, its answer is no phase.
    """
    if callable(phases):
        asked = phases
        return lambda name: _checked(name, asked(name))
    if not isinstance(phases, Mapping):
        raise InvalidTypeError(f"phases must be a mapping or a callable, not {type(phases).__name__}")
    for pattern, phase in phases.items():
        _checked(pattern, phase)

    def flag(name: str) -> Phase:
        # A copy, made anew each time: whoever owns the mapping may change it, from another thread just now.
        for pattern, phase in list(phases.items()):
            if fnmatchcase(name, pattern):
                return _checked(pattern, phase)
        return Phase.BROADCAST

    return flag


def _checked(name: str, phase: object) -> Phase:
    if not isinstance(phase, Phase):
        raise InvalidTypeError(f"the phase of {name!r} must be one of Phase, not {phase!r}")
    return phase
