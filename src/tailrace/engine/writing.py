"""What is appended: checked against the limit, queued with what others append, and its outcome told.

The queue and who sends it: ``appender.py``. For callers that do not block: ``submission.py``.
"""

import math
import time
from collections.abc import Callable, Sequence

from tailrace.engine.appender import Appender
from tailrace.engine.foreign import foreign_errors
from tailrace.engine.submission import Submission
from tailrace.engine.workers import Workers
from tailrace.errors import DurableStreamUnavailableError, InvalidArgumentError, PayloadTooLargeError
from tailrace.instrument import Hooks, RecordsAppended, RecordsNotAppended
from tailrace.options import EngineOptions
from tailrace.spi import AppendDeferred, Appended, AppendOutcome, Backend, Entry, Transactional


class Writing:
    """Thread-safe. Of one process: a forked child makes another one.

    Args:
        backend: The store.
        options: Bounds and timeouts.
        hooks: Called with what became of each append.
        workers: Lead on behalf of callers that do not block.
        hint: Tells local readers that a topic moved.
    """

    def __init__(
        self, backend: Backend, options: EngineOptions, hooks: Hooks, workers: Workers, hint: Callable[[str], None]
    ) -> None:
        self._backend = backend
        self._max_payload = min(options.max_payload, backend.capabilities.max_payload)
        self._hooks = hooks
        self._hint = hint
        self._workers = workers
        self._closed = False
        self._appender = Appender(backend, options)
        self._counts = {"appended": 0, "appends_refused": 0, "appends_unknown": 0}

    def append(self, topic: str, payloads: Sequence[bytes]) -> None:
        """Append payloads to one topic, contiguously; block until they are stored.

        Raises:
            PayloadTooLargeError: One is over the limit; nothing was sent.
            DurableStreamUnavailableError: Refused, or the outcome is unknown (``maybe_stored``).
        """
        entry, started = self._entry(topic, payloads), time.monotonic()
        try:
            outcome = self._appender.append(entry)
        except BaseException:
            # Interrupted, perhaps between storing it and telling anybody.
            self._hint(topic)
            raise
        self.conclude(entry, outcome, started)

    def append_in(self, connection: object, topic: str, payloads: Sequence[bytes]) -> None:
        """Append payloads inside the transaction that is open on a connection of the application's. Blocks.

        Raises:
            InvalidArgumentError: The store can not, or not on that connection.
            PayloadTooLargeError: One is over the limit.
            DurableStreamUnavailableError: It was refused, and the transaction may have to be rolled back.
        """
        if self._closed:
            raise DurableStreamUnavailableError("the client is closed: connect again")
        store = self._backend
        if not isinstance(store, Transactional):
            name = store.capabilities.store
            raise InvalidArgumentError(
                f"{name} can not append inside a transaction of yours; a store in a database can"
            )
        entry = self._entry(topic, payloads)
        with foreign_errors():
            store.append_in(connection, entry)

    def submit(
        self,
        topic: str,
        payloads: Sequence[bytes],
        settled: Callable[[], None],
        *,
        within: float = math.inf,
        goes_aside: bool = True,
    ) -> Submission:
        """Queue payloads like ``append`` and return at once; ``settled`` is called, from any thread, at the end.

        Args:
            within: Seconds that somebody waits for it, if those are fewer than ``append_timeout``.
            goes_aside: Whether it waits for a topic that somebody else holds locked.

        Raises:
            PayloadTooLargeError: One is over the limit; nothing was queued.
        """
        return Submission(
            self._appender,
            self._workers,
            self._entry(topic, payloads),
            settled,
            self.conclude,
            within=within,
            goes_aside=goes_aside,
        )

    def conclude(self, entry: Entry, outcome: AppendOutcome, started: float) -> None:
        """Report the outcome of an append that began at ``started``: raise it, or hint local readers."""
        records = len(entry.payloads)
        assert not isinstance(outcome, AppendDeferred)
        if not isinstance(outcome, Appended):
            error = outcome.error
            if error.maybe_stored:
                self._hint(entry.topic)
            self._counts["appends_unknown" if error.maybe_stored else "appends_refused"] += 1
            if self._hooks:
                seconds = time.monotonic() - started
                self._hooks.emit(RecordsNotAppended(entry.topic, records, error.maybe_stored, str(error), seconds))
            raise error
        self._counts["appended"] += records
        self._hint(entry.topic)
        if self._hooks:
            seconds = time.monotonic() - started
            self._hooks.emit(RecordsAppended(entry.topic, records, sum(map(len, entry.payloads)), seconds))

    def stats(self) -> dict[str, int]:
        """Return counters by name."""
        return {**self._counts, "append_batches": self._appender.batches}

    def close(self) -> None:
        """Refuse what is queued and what comes. Idempotent."""
        self._closed = True
        self._appender.close()

    def _entry(self, topic: str, payloads: Sequence[bytes]) -> Entry:
        for payload in payloads:
            if len(payload) > self._max_payload:
                store = self._backend.capabilities
                named = "the max_payload option" if self._max_payload < store.max_payload else store.limited_by
                raise PayloadTooLargeError(len(payload), self._max_payload, named=named)
        return Entry(topic, payloads, may_wait=False)
