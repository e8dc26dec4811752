"""How long records are kept: bounds, and which of them hold for which topic. Pure."""

import functools
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import translate

from tailrace.errors import InvalidArgumentError, InvalidTypeError


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long records are kept. ``None`` means no bound; the newest record may go too.

    Attributes:
        max_age: Seconds since the record became readable. A sweep leaves ``append_timeout`` of grace
            on top, because an append may take that long to become readable.
        max_records: Records per topic.
        max_bytes: Payload bytes per topic.
    """

    max_age: float | None = None
    max_records: int | None = None
    max_bytes: int | None = None

    def __post_init__(self) -> None:
        for name in ("max_age", "max_records", "max_bytes"):
            value = getattr(self, name)
            if value is None:
                continue
            kinds = int | float if name == "max_age" else int
            if isinstance(value, bool) or not isinstance(value, kinds):
                wanted = "a number" if name == "max_age" else "a whole number"
                raise InvalidTypeError(f"{name} must be {wanted} or None, not {type(value).__name__}")
            if not 0 <= value < math.inf:
                raise InvalidArgumentError(f"{name} must be a finite number of at least 0, not {value}")

    @property
    def unbounded(self) -> bool:
        """Whether nothing is ever removed."""
        return self.max_age is None and self.max_records is None and self.max_bytes is None


def for_topic(topic: str, rules: Mapping[str, Retention], otherwise: Retention) -> Retention:
    """Return the retention of the first pattern that a topic matches, in the order of ``rules``."""
    for pattern, retention in rules.items():
        if _matcher(pattern).fullmatch(topic):
            return retention
    return otherwise


def strictest(retentions: Iterable[Retention]) -> Retention:
    """Return the bounds that no topic is below: whatever keeps to them has nothing that must go."""
    kept = tuple(retentions)
    return Retention(
        max_age=min((each.max_age for each in kept if each.max_age is not None), default=None),
        max_records=min((each.max_records for each in kept if each.max_records is not None), default=None),
        max_bytes=min((each.max_bytes for each in kept if each.max_bytes is not None), default=None),
    )


@functools.cache
def _matcher(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern))
