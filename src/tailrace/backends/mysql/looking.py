"""Which of the followed topics have moved, found out by asking. Two kinds of looks:

*New*: what was changed since the last look, by an index on the stamp of the change. One statement for any number of
topics, and nothing to read while nothing moves. The stamp is older than the commit, so each look goes back ``GRACE``
seconds before the last one, and what it has seen before is left out.

*Heads*: where some of the followed topics stand, compared with what was seen of them, some at a time and all of them in
turn. That finds what the stamps do not tell: transactions that stay open for longer than the grace, a clock that was
turned back, rows that were restored from a backup.
"""

import time
from collections.abc import Collection, Sequence
from typing import Any

from tailrace.backends.mysql import literals
from tailrace.backends.mysql.line import Line
from tailrace.backends.mysql.tables import Statements

GRACE = 0.3
"""Seconds from the stamp of a change to its commit, mostly."""

HEADS_EVERY, HEADS_AT_ONCE = 1.0, 1000
"""Seconds between two looks at heads, and how many topics each is about."""

NEW_AT_ONCE = 10_000
"""Changes that one look takes in; with more, any topic may have moved."""

CALMER = 1.3
"""By how much the pause grows with each look that finds nothing."""

SHARE, SHARE_OF_HEADS = 0.25, 0.05
"""Of the time, at most, that the two kinds of looks may take."""


class Looking:
    """Not thread-safe. Raises what ``Line.ask`` raises.

    Args:
        shortest, longest: Seconds between two looks, soon after a change and long after.
        patience: Seconds that an answer may take.

    Attributes:
        due: When to look again, on the monotonic clock.
    """

    def __init__(self, line: Line, statements: Statements, shortest: float, longest: float, patience: float) -> None:
        self._line = line
        self._statements = statements
        self._shortest, self._longest = shortest, longest
        self._patience = patience
        self._pause = shortest
        self._seen_at = 0
        self._seen: dict[tuple[bytes, int], int] = {}
        self._heads: dict[bytes, tuple[Any, ...] | None] = {}
        self._queue: list[bytes] = []
        self._heads_due = 0.0
        self.due = 0.0

    def follow(self, added: Collection[str], dropped: Collection[str]) -> None:
        """Change what is followed, from where it stands now."""
        if not self._seen_at:
            self._new()
        for topic in dropped:
            self._heads.pop(topic.encode(), None)
        names = [topic.encode() for topic in added]
        for start in range(0, len(names), HEADS_AT_ONCE):
            self._heads.update(self._stand(names[start : start + HEADS_AT_ONCE]))
        # Whoever is new here is likely to see something soon.
        self._pause = self._shortest
        self.due = min(self.due, time.monotonic() + self._pause)

    def look(self) -> tuple[frozenset[str], bool]:
        """Look; return the topics that moved, and whether any may have."""
        began = time.monotonic()
        names, anything = self._new()
        if began >= self._heads_due:
            looked = time.monotonic()
            names |= self._changed_heads()
            took = time.monotonic() - looked
            self._heads_due = looked + took + max(HEADS_EVERY, took / SHARE_OF_HEADS)
            began += took
        moved = frozenset(name.decode() for name in names)
        self._pause = self._shortest if moved or anything else min(self._pause * CALMER, self._longest)
        took = time.monotonic() - began
        self.due = began + took + max(self._pause, took / SHARE)
        return moved, anything

    def _new(self) -> tuple[set[bytes], bool]:
        since = self._seen_at - int(GRACE * 1e6) if self._seen_at else 2**62
        statement = self._statements.changed % (since, NEW_AT_ONCE, since, NEW_AT_ONCE)
        (_, now, _), *rows = sorted(self._ask(statement), key=lambda row: row[0] is not None)
        turned_back = now < self._seen_at
        self._seen_at = now
        seen, self._seen = self._seen, {(bytes(name), kind): at for name, at, kind in rows}
        fresh = {name for (name, kind), at in self._seen.items() if seen.get((name, kind)) != at}
        return fresh & self._heads.keys(), turned_back or len(rows) >= NEW_AT_ONCE

    def _changed_heads(self) -> set[bytes]:
        if not self._queue:
            self._queue = list(self._heads)
        some, self._queue = self._queue[:HEADS_AT_ONCE], self._queue[HEADS_AT_ONCE:]
        some = [name for name in some if name in self._heads]
        if not some:
            return set()
        heads = self._stand(some)
        moved = {name for name, head in heads.items() if self._heads[name] != head}
        self._heads.update(heads)
        return moved

    def _stand(self, names: Sequence[bytes]) -> dict[bytes, tuple[Any, ...] | None]:
        rows = self._ask(self._statements.heads % b",".join(map(literals.text, names)))
        found = {bytes(row[0]): tuple(row[1:]) for row in rows}
        return {name: found.get(name) for name in names}

    def _ask(self, statement: bytes) -> Sequence[tuple[Any, ...]]:
        return self._line.ask([statement], time.monotonic() + self._patience)[-1]
