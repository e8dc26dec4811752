"""What an append that was stopped knows about its records. Pure."""

from tailrace.cli.exits import Code, Stop, Terminated, code_of
from tailrace.cli.output import count
from tailrace.errors import DurableStreamError, DurableStreamUnavailableError


class Progress:
    """Counts the records of one input, in its order.

    Args:
        noun: What they are called.

    Attributes:
        stored: Records that the store acknowledged.
        uncertain: Records after those that may or may not be stored.
    """

    def __init__(self, noun: str = "record") -> None:
        self._noun = noun
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
        certain = f"{count(self.stored, self._noun)} stored for certain"
        if not self.uncertain:
            return f"{certain}; from {self._noun} {first} of the input on, nothing was stored."
        last = self.stored + self.uncertain
        which = f"{self._noun} {first}" if first == last else f"{self._noun}s {first} to {last}"
        return (
            f"{certain}; {which} of the input may or may not be stored: look at the end before "
            f"sending them again; from {self._noun} {last + 1} on, nothing was stored."
        )


def ending_of(stopped: BaseException, progress: Progress) -> Stop:
    """Return how a command ends that was stopped while it appended."""
    if isinstance(stopped, DurableStreamError):
        code = Code.UNCERTAIN if progress.uncertain else code_of(stopped)
        why = str(stopped)
    else:
        code = Code.TERMINATED if isinstance(stopped, Terminated) else Code.INTERRUPTED
        why = "interrupted"
    return Stop(code, f"{why}. {progress.sentence()}")
