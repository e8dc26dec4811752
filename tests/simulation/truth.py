"""What really was in the store at every moment, as a tree of records and a list of versions per topic.

Written by the simulated store, read by the checker; knows neither engine nor cursor.
"""

import bisect
from dataclasses import dataclass, field
from typing import TypeAlias

Key: TypeAlias = tuple[int, int, int]
"""Life, position, tag."""


@dataclass(slots=True, eq=False)
class Node:
    """One record in the tree of all histories, or the start of a life (``payload is None``)."""

    life: int
    depth: int
    payload: bytes | None
    parent: "Node | None"
    sequence: int
    time: float

    def __repr__(self) -> str:
        return f"<{'start of life' if self.payload is None else self.payload.decode()} {self.depth}>"


@dataclass(slots=True, frozen=True)
class BeforeBirth:
    """The place of whoever looked at a topic that did not exist."""

    grave: int


Spot: TypeAlias = Node | BeforeBirth


@dataclass(slots=True, frozen=True, eq=False)
class Version:
    """A topic from one moment to the next."""

    sequence: int
    time: float
    tip: Node | None = None
    horizon: int = 0
    sealed: bool = False
    seal_error: str | None = None
    grave: int = 0

    @property
    def start(self) -> Spot:
        """Where a subscriber from the beginning starts."""
        at: Node | None = self.tip
        while at is not None and at.depth > self.horizon:
            at = at.parent
        return BeforeBirth(self.grave) if at is None else at

    @property
    def tail(self) -> Spot:
        """Where a subscriber from the tail starts."""
        return BeforeBirth(self.grave) if self.tip is None else self.tip

    def holds(self, spot: Spot) -> bool:
        """Whether nothing that followed this place is gone."""
        if isinstance(spot, BeforeBirth):
            return self.grave in (0, spot.grave) and (self.tip is None or self.horizon == 0)
        return self._on_line(spot) and spot.depth >= self.horizon

    def at_tail(self, spot: Spot) -> bool:
        """Whether a place that holds has nothing after it."""
        if isinstance(spot, BeforeBirth):
            return self.tip is None or self.tip.depth == 0
        return spot is self.tip

    def news(self, spot: Spot) -> bool:
        """Whether there is anything to tell to whoever stands there: a record, a loss, the end."""
        return not self.holds(spot) or not self.at_tail(spot) or self.sealed

    def _on_line(self, spot: Node) -> bool:
        at = self.tip
        while at is not None and at.depth > spot.depth:
            at = at.parent
        return at is spot


@dataclass(slots=True)
class Truth:
    """The store's own log."""

    versions: dict[str, list[Version]] = field(default_factory=dict)
    nodes: dict[tuple[str, Key], Node] = field(default_factory=dict)
    by_payload: dict[bytes, list[Node]] = field(default_factory=dict)

    def add(self, topic: str, version: Version) -> None:
        """Note what a topic became."""
        self._of(topic).append(version)

    def last(self, topic: str) -> Version:
        """Return what a topic is now."""
        return self._of(topic)[-1]

    def during(self, topic: str, first: int, last: int) -> list[Version]:
        """Return every version that was in force at some moment between two sequence numbers."""
        versions = self._of(topic)
        begin = max(0, bisect.bisect_right(versions, first, key=lambda version: version.sequence) - 1)
        end = bisect.bisect_right(versions, last, key=lambda version: version.sequence)
        return versions[begin:end]

    def between(self, topic: str, first: float, last: float) -> list[Version]:
        """Return every version that was in force at some moment between two times."""
        versions = self._of(topic)
        begin = max(0, bisect.bisect_right(versions, first, key=lambda version: version.time) - 1)
        end = bisect.bisect_right(versions, last, key=lambda version: version.time)
        return versions[begin:end]

    def _of(self, topic: str) -> list[Version]:
        return self.versions.setdefault(topic, [Version(0, 0.0)])
