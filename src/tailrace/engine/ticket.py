"""One caller's place in a queue of appends. Pure: the appender's lock guards it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tailrace.spi import AppendOutcome, Entry

if TYPE_CHECKING:
    from tailrace.engine.lane import Lane


class Ticket:
    """One caller's place in the queue of a lane.

    Args:
        entry: What it appends.
        deadline: On the monotonic clock.
        settled: Called once the outcome is known; must not block.
        called_to_lead: Called when it is this ticket's turn to lead: somebody must then call ``lead`` with it. Perhaps
            called in vain.
        goes_aside: Whether it waits for a topic that is locked; if not, that is its outcome.

    Attributes:
        lane: Where it stands; it may be sent from there to another one.
        leads: Whether somebody sends on its behalf.
        sent: Whether it may be stored.
    """

    __slots__ = ("called_to_lead", "deadline", "entry", "goes_aside", "lane", "leads", "outcome", "sent", "settled")

    def __init__(
        self,
        entry: Entry,
        deadline: float,
        settled: Callable[[], None],
        called_to_lead: Callable[[], None],
        *,
        goes_aside: bool = True,
    ) -> None:
        self.entry = entry
        self.goes_aside = goes_aside
        self.deadline = deadline
        self.settled = settled
        self.called_to_lead = called_to_lead
        self.outcome: AppendOutcome | None = None
        self.lane: Lane | None = None
        self.leads = False
        self.sent = False

    def settle(self, outcome: AppendOutcome) -> None:
        """Give this caller its outcome, unless it has one already, and wake it."""
        if self.outcome is None:
            self.outcome = outcome
        self.settled()
