"""Following topics where LISTEN delivers nothing: one query asks for the heads of all of them, more and less often."""

import time
from collections.abc import Collection, Mapping
from typing import TypeAlias

from tailrace.backends.postgres.line import Line

FASTEST, SLOWEST = 0.01, 0.5
"""Seconds between two looks, soon after a change and long after."""

CALMER = 1.3
"""By how much the pause grows with each look that finds nothing."""

SHARE = 0.1
"""Of the time, at most, that looking may take: ten thousand topics are looked at less often than ten."""

Head: TypeAlias = tuple[bytes | None, ...]

_HEADS = "SELECT name, incarnation, last_position, last_tag, sealed FROM {topics} WHERE name = ANY ($1::bytea[])"


class Polling:
    """Not thread-safe. Raises what ``Line`` raises.

    Args:
        line: What it asks through.
        topics: The table of topics, as it stands in a statement.
        patience: Seconds that an answer may take.
    """

    reliable = False

    def __init__(self, line: Line, topics: str, patience: float) -> None:
        self._line = line
        self._statement = _HEADS.format(topics=topics)
        self._patience = patience
        self._heads: dict[str, Head] = {}
        self._moved: set[str] = set()
        self._pause = FASTEST
        self.due = time.monotonic()

    def follow(self, added: Collection[str], dropped: Collection[str], deadline: float) -> None:
        """Change what is followed, from where it stands now."""
        for topic in dropped:
            self._heads.pop(topic, None)
        if added:
            # Before whoever follows looks for himself: what comes after that look is a change to this one.
            heads = self._look(added, deadline)
            self._heads.update({topic: heads.get(topic, ()) for topic in added})

    def tend(self, now: float) -> None:
        """Look at all heads, if it is time to."""
        if now < self.due:
            return
        # Also while nothing is followed: whether the connection still is one.
        heads = self._look(self._heads, now + self._patience)
        moved = {topic for topic, before in self._heads.items() if heads.get(topic, ()) != before}
        self._heads.update({topic: heads.get(topic, ()) for topic in moved})
        self._moved |= moved
        self._pause = FASTEST if moved else min(self._pause * CALMER, SLOWEST)
        after = time.monotonic()
        self.due = after + max(self._pause, (after - now) / SHARE)

    def hear(self) -> None:
        """Take in what has arrived without being asked for: the end of the connection, mostly."""
        self._line.hear()
        self._line.answers()

    def take(self) -> frozenset[str]:
        """Return the topics that moved since the last time."""
        moved, self._moved = self._moved, set()
        # Some may have been dropped meanwhile.
        return frozenset(moved & self._heads.keys())

    def _look(self, topics: Collection[str], deadline: float) -> Mapping[str, Head]:
        names = ",".join([f'"\\\\x{topic.encode().hex()}"' for topic in topics])
        rows = self._line.ask(self._statement, (f"{{{names}}}".encode(),), deadline)
        return {
            (rows.get_value(row, 0) or b"").decode(): tuple(
                rows.get_value(row, field) for field in range(1, rows.nfields)
            )
            for row in range(rows.ntuples)
        }
