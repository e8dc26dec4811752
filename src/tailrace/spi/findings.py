"""What a store can tell about how it is set up. Optional; ``doctor`` shows it, and nothing else depends on it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What a look at the setup found, for people.

    Attributes:
        facts: Settings and figures of the store by name, as it tells them.
        sizes: Bytes, by what they are of: a file, the server's memory.
        warnings: What may lose records or hints, or refuse work: one sentence each, with what to set.
        unread: What could not be looked at, and why: one sentence each.
    """

    facts: Mapping[str, str] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


@runtime_checkable
class Examinable(Protocol):
    """A third interface that a ``Backend`` may also satisfy."""

    def examine(self) -> Findings:
        """Look at the setup. Blocks; writes nothing, and gets by with any rights: what it may not see is ``unread``.

        Raises:
            DurableStreamUnavailableError: The store is away.
        """
        ...
