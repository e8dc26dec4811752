"""How many streams there are, in all and of each principal. Of the event loop's thread."""

import contextlib
from collections import Counter
from collections.abc import Iterator

from tailrace.server.principals import Principal
from tailrace.server.problems import Problem


class Seats:
    """Places for streams.

    Args:
        most: In all.
        most_each: Of one principal.
    """

    def __init__(self, most: int, most_each: int) -> None:
        self._most = most
        self._most_each = most_each
        self._taken: Counter[str] = Counter()

    @property
    def taken(self) -> int:
        """How many streams there are."""
        return self._taken.total()

    @contextlib.contextmanager
    def take(self, principal: Principal) -> Iterator[None]:
        """Have a seat for the time of the block.

        Raises:
            Problem: ``overloaded``: there is none left.
        """
        if self._taken.total() >= self._most or self._taken[principal.name] >= self._most_each:
            raise Problem("overloaded", "there are as many streams as this server holds")
        self._taken[principal.name] += 1
        try:
            yield
        finally:
            self._taken[principal.name] -= 1
            if not self._taken[principal.name]:
                del self._taken[principal.name]
