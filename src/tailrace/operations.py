"""Operations on a store, with the same checks that topics have: what ``client.maintenance`` returns."""

from collections.abc import Callable, Sequence

from typing_extensions import override

from tailrace import arguments
from tailrace.engine import foreign_errors
from tailrace.errors import InvalidArgumentError, InvalidTypeError
from tailrace.options import positive_count, positive_seconds
from tailrace.retention import Retention
from tailrace.spi import Backend, Examinable, Findings, Maintenance, SweepBudget, SweepReport, TopicInfo
from tailrace.sweeping import Sweeping


class Operations(Maintenance):
    """List, trim, delete, sweep and examine. Thread-safe; every call blocks on the store.

    All raise ``InvalidArgumentError`` for arguments that no store could accept, before any I/O, and
    ``DurableStreamUnavailableError`` when the store is away.

    Args:
        backend: A store.
        closed: Tells whether it was closed.

    Raises:
        InvalidArgumentError: It has no operations of its own.
    """

    def __init__(self, backend: Backend, closed: Callable[[], bool]) -> None:
        if not isinstance(backend, Maintenance):
            raise InvalidArgumentError(f"{backend.capabilities.store} offers no maintenance through Tailrace")
        self._store: Maintenance = backend
        self._closed = closed

    @override
    def topics(self, prefix: str = "", after: str = "", limit: int = 1000) -> Sequence[TopicInfo]:
        """List existing topics in byte order of their names.

        Args:
            prefix: Only names that begin with it.
            after: Only names strictly after it: the last one of the page before.
            limit: At most that many.
        """
        positive_count("limit", limit)
        prefix, after = arguments.name_part("prefix", prefix), arguments.name_part("after", after)
        with foreign_errors():
            return self._store.topics(prefix, after, limit)

    @override
    def trim(self, topic: str, retention: Retention) -> int:
        """Apply ``retention`` to one topic now and in full; return how many records were removed."""
        name = arguments.topic_name(topic)
        if not isinstance(retention, Retention):
            raise InvalidTypeError(f"retention must be a Retention, not {type(retention).__name__}")
        with foreign_errors():
            return self._store.trim(name, retention)

    @override
    def delete(self, topic: str) -> bool:
        """Remove a topic with everything in it; return whether it existed."""
        name = arguments.topic_name(topic)
        with foreign_errors():
            return self._store.delete(name)

    @override
    def sweep(self, budget: SweepBudget | None = None) -> SweepReport:
        """Apply the configured retention to all topics, within a budget. The next sweep removes what is left."""
        with foreign_errors():
            return self._store.sweep(budget or SweepBudget())

    def sweep_every(self, seconds: float, budget: SweepBudget | None = None) -> Sweeping[SweepReport]:
        """Sweep in a thread of its own: now, and again about every ``seconds``, until the result is closed.

        A round that its budget ended is followed by the next one soon, so that a backlog is worked off at half speed.
        Any number of processes may do so at once. Does not block.
        """
        positive_seconds("seconds", seconds)
        return Sweeping(lambda: self.sweep(budget), seconds, self._closed)

    def examine(self) -> Findings:
        """Look at how the store is set up; nothing is found in one that has nothing to tell."""
        store = self._store
        with foreign_errors():
            return store.examine() if isinstance(store, Examinable) else Findings()
