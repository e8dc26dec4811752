"""An append whose caller does not block: queued like any other, led by a worker when it is its turn."""

import contextlib
import functools
import time
from collections.abc import Callable

from tailrace.engine.appender import Appender
from tailrace.engine.ticket import Ticket
from tailrace.engine.workers import Workers
from tailrace.errors import DurableStreamUnavailableError
from tailrace.spi import AppendDeferred, AppendOutcome, Entry


class Submission:
    """One append under way.

    Args:
        workers: Do what blocks, on behalf of its caller.
        settled: Called from any thread once ``result`` may be called; must not block.
        conclude: Reports its outcome: raises it, if it is none that was hoped for.
        within: Seconds that somebody waits for it, if those are fewer than usual.
        goes_aside: Whether it waits for a topic that is locked; if not, ``outcome`` may be that it was deferred.
    """

    __slots__ = ("_appender", "_conclude", "_started", "_ticket", "_workers")

    def __init__(
        self,
        appender: Appender,
        workers: Workers,
        entry: Entry,
        settled: Callable[[], None],
        conclude: Callable[[Entry, AppendOutcome, float], None],
        *,
        within: float,
        goes_aside: bool,
    ) -> None:
        self._workers = workers
        self._conclude = conclude
        self._started = time.monotonic()
        self._appender = appender
        self._ticket = appender.submit(entry, settled, self._lead, within=within, goes_aside=goes_aside)

    def expire(self) -> None:
        """Stop waiting: what is still queued is withdrawn, what was sent is unknown. Idempotent, does not block.

        ``settled`` comes now, or at once from the worker that is about to send it.
        """
        self._appender.expire(self._ticket)

    def result(self) -> None:
        """Return if it was stored.

        Raises:
            DurableStreamUnavailableError: Refused, or unknown (``maybe_stored``).
        """
        assert self._ticket.outcome is not None
        self._conclude(self._ticket.entry, self._ticket.outcome, self._started)

    def outcome(self) -> AppendOutcome:
        """Like ``result``, but return what became of it: for whoever tells it to somebody else."""
        outcome = self._ticket.outcome
        assert outcome is not None
        if not isinstance(outcome, AppendDeferred):
            with contextlib.suppress(DurableStreamUnavailableError):
                self.result()
        return outcome

    def _lead(self, ticket: Ticket) -> None:
        # At once: there is one leader in each lane, and the lanes are few.
        self._workers.run(functools.partial(self._appender.lead_for, ticket), at_once=True)
