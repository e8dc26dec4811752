"""Where an iteration over a stream stands, and what it does about each answer. Pure: pages, errors and times go in.

Both colours drive it: ``iteration.py`` and its awaited mirror only ask, and wait.
"""

from collections import deque

from tailrace.engine.backoff import Outage
from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError
from tailrace.workflow import bounds
from tailrace.workflow.errors import RunNotFoundError, StreamNotFoundError
from tailrace.workflow.items import Item, item_from
from tailrace.workflow.model import ItemPage, Stream


class Course:
    """The course of one iteration.

    Args:
        from_offset: Of the first item.
        max_items: Items in one page.
        wait_seconds: Seconds that one request waits for an item.
        outage_budget: Seconds from the first failure for which a store that is away is asked again.
        opening_budget: Seconds for which a stream that is not there yet is asked for again.

    Attributes:
        next_offset: Of the item after the one that was taken last.
        stream: As the last answer showed it.
    """

    def __init__(
        self, from_offset: int, max_items: int, wait_seconds: int, outage_budget: float, opening_budget: float
    ) -> None:
        bounds.check_page(from_offset, max_items, wait_seconds)
        self.next_offset = from_offset
        self.stream: Stream | None = None
        self.max_items = max_items
        self.wait_seconds = wait_seconds
        self._outage = Outage(outage_budget)
        self._opening = Outage(opening_budget)
        self._documents: deque[bytes] = deque()
        self._terminal = False

    @property
    def done(self) -> bool:
        """Whether every item was taken, and none will follow."""
        return self._terminal and not self._documents

    def take(self) -> Item | None:
        """Return the next item that is here; ``None``: ask for more."""
        if not self._documents:
            return None
        item = item_from(self._documents.popleft())
        self.next_offset = item.next_offset
        return item

    def answered(self, page: ItemPage) -> None:
        """Take a page from ``next_offset`` on."""
        self._outage.over()
        self.stream = page.stream
        self._documents.extend(page.documents)
        self._terminal = page.terminal

    def failed(self, error: Exception, now: float) -> float:
        """Take a failure; return when to ask again.

        Raises:
            Exception: This one: asking again is of no use, or was tried for long enough.
        """
        if isinstance(error, RunNotFoundError | StreamNotFoundError) and self.stream is None:
            budget = self._opening
        elif isinstance(error, DurableStreamUnavailableError) and not isinstance(error, StoreUnusableError):
            budget = self._outage
        else:
            raise error
        if not budget.failed(now):
            # Whoever goes on with the iteration all the same has the whole time again.
            budget.over()
            raise error
        return budget.retry_at
