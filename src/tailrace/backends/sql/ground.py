"""What a sweep needs of a store: candidates for each of its tasks, and what is to be done with one of them."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from tailrace.backends.sql.cuts import Cut
from tailrace.retention import Retention

BATCH = 100
"""Candidates that are looked up at once, and graves that are removed at once."""

SLICE = 5000
"""Topics whose sizes are looked at by one statement."""

Key = tuple[int, int]


class Candidate(NamedTuple):
    """A topic that a task may have to do with.

    Attributes:
        value: By which the candidates are ordered, and after it by ``id``.
    """

    value: int
    id: int
    name: str
    records: int
    size: int

    @property
    def key(self) -> Key:
        """Where it stands among the candidates."""
        return self.value, self.id


class Ground(Protocol):
    """What a sweep needs of a store. Each call is short, and nobody waits for it for longer than that.

    Ages are stamps by the store's clock: ``stamp`` makes them.
    """

    def stamp(self, ago: float) -> int:
        """Return the stamp of that many seconds ago; 0 for anything before the epoch."""
        ...

    def aged(self, before: int, after: Key) -> Sequence[Candidate]:
        """Return some topics whose earliest record is older than a stamp, which is their value."""
        ...

    def overfull(self, records: int, size: int, after: Key) -> Sequence[Candidate]:
        """Return those among the next ``SLICE`` topics that have more than that, and the last one of them anyway.

        Their value is their id. Nothing indexes sizes: where all topics have to be gone through, it is done in steps.
        """
        ...

    def idle(self, before: int, after: Key) -> Sequence[Candidate]:
        """Return some empty, unsealed topics without an append since a stamp; their value is that of the last one."""
        ...

    def cut(self, candidate: Candidate, keep: Retention, oldest: int, room: int) -> Cut | None:
        """Remove at most ``room`` records that are not kept, unless the name has begun another life.

        Returns:
            ``None`` if somebody else holds the topic locked, and goes on to.
        """
        ...

    def forget(self, candidate: Candidate, before: int) -> bool | None:
        """End the life of a topic if it is still idle; return whether it was.

        Returns:
            ``None`` if somebody else holds the topic locked, and goes on to.
        """
        ...

    def next_remains(self, after: int) -> int | None:
        """Return the first topic with a greater id whose life has ended, and whose records have not been reclaimed."""
        ...

    def reclaim(self, topic_id: int, room: int) -> int | None:
        """Remove up to ``room`` records of such a topic; fewer than that: they were the last.

        Returns:
            ``None`` if somebody else holds some of them locked, and goes on to.
        """
        ...

    def expire(self, before: int) -> int:
        """Forget some deleted lives that ended before a stamp; fewer than ``BATCH``: they were the last."""
        ...
