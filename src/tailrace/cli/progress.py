"""What an append that was stopped knows about its records. Pure."""

from tailrace.cli.output import count
from tailrace.errors import DurableStreamError, DurableStreamUnavailableError


class Progress:
    """Counts the records of one input, in its order.

    Attributes:
        stored: Records that the store acknowledged.
        uncertain: Records after those that may or may not be stored.
    """

    def __init__(self) -> None:
        self._known = (0, 0)

    @property
    def stored(self) -> int:
        return self._known[0]

    @property
    def uncertain(self) -> int:
        return self._known[1]

    def sending(self, records: int) -> None:
        """Note that a batch leaves: from here until its fate is known it is uncertain."""
        self._known = (self.stored, records)

    def acknowledged(self) -> None:
        """Note that the store has the batch.

        An interrupt may come between any two steps of this process. The pair is one attribute, so that the
        batch counts as uncertain until this assignment and as stored after it, and never as both or neither.
        """
        self._known = (self.stored + self.uncertain, 0)

    def stopped(self, why: BaseException) -> None:
        """Note what ended it: most errors say for certain that the batch was not stored."""
        refused = isinstance(why, DurableStreamError) and not (
            isinstance(why, DurableStreamUnavailableError) and why.maybe_stored
        )
        if refused:
            self._known = (self.stored, 0)

    def sentence(self) -> str:
        """Return what is stored for certain and what is not known, in input order from 1."""
        first = self.stored + 1
        certain = f"{count(self.stored, 'record')} stored for certain"
        if not self.uncertain:
            return f"{certain}; from record {first} of the input on, nothing was stored."
        last = self.stored + self.uncertain
        which = f"record {first}" if first == last else f"records {first} to {last}"
        return (
            f"{certain}; {which} of the input may or may not be stored: look at the end of the topic before "
            f"sending them again; from record {last + 1} on, nothing was stored."
        )
