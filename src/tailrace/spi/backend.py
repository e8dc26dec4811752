"""The interface of a store: six methods, a watch, and an optional set of operations.

Implementations are blocking and thread-safe, and ignorant of cursors, subscriptions and event loops.
They raise only ``DurableStreamUnavailableError`` (or its subclasses; ``StoreUnusableError`` where
waiting can not help); a driver's own exceptions are mapped in one place of the adapter.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from tailrace import limits
from tailrace.boundaries import Unborn
from tailrace.retention import Retention
from tailrace.spi.pages import (
    AppendOutcome,
    Bounds,
    Changes,
    Entry,
    ReadOutcome,
    ReadRequest,
    SweepBudget,
    SweepReport,
    TopicInfo,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a store can and can not do: declared, shown by ``doctor`` and the contract kit, never silently skipped.

    Attributes:
        store: Name and version, for people.
        durable: Whether acknowledged records outlive this process.
        durability: One sentence on what an acknowledgement means.
        shared: Whether several processes may use the store at once.
        gap_detection: ``"exact"``: a lost place is told if and only if something was lost.
            ``"conservative"``: always told when something was lost, sometimes when nothing was.
        atomic_batches: Whether one entry is stored whole or not at all, also across a crash.
        defers: Whether somebody else can hold a topic locked, who then keeps up appends to that topic and to no other.
        enforces: Which bounds of ``Retention`` hold without a sweep.
        gevent: How calls behave in a gevent-patched process; ``"untested"`` promises nothing.
        fork: Whether a child process may use what it inherited, on connections of its own; ``"untested"`` promises
            nothing.
        local: Whether a read is never answered by somebody else: no network lies between. It then takes place in the
            thread that wants the records, which is fastest, and which nothing could interrupt.
        max_payload: Bytes in one payload.
        limited_by: What sets that, as an error names it: a setting of the server.
        notes: Anything else that a careful user would want to know, one sentence each.
    """

    store: str
    durable: bool
    durability: str
    shared: bool
    gap_detection: Literal["exact", "conservative"] = "exact"
    atomic_batches: bool = True
    defers: bool = False
    enforces: frozenset[Literal["age", "records", "bytes"]] = frozenset()
    gevent: Literal["cooperative", "native-thread", "refused", "untested"] = "untested"
    fork: Literal["reopens", "refused", "untested"] = "untested"
    local: bool = False
    max_payload: int = limits.MAX_PAYLOAD_BYTES
    limited_by: str = "the store's limit"
    notes: tuple[str, ...] = ()


class Watch(Protocol):
    """Where a store says that topics moved. One connection, whatever the number of topics.

    Used by one thread, except for ``interrupt``. Hints only: they may repeat, come late, or be lost.
    Hints for topics that are not followed may be left out.
    """

    @property
    def reliable(self) -> bool:
        """Whether hints are known to arrive right now; if not, topics are read more often."""
        ...

    def follow(self, added: Collection[str], dropped: Collection[str]) -> None:
        """Change the topics with live readers; return once the store has confirmed it.

        The pump reads every added topic once more afterwards, so that nothing which was appended
        before the confirmation is missed.
        """
        ...

    def wait(self, timeout: float) -> Changes:
        """Block up to ``timeout`` seconds for hints; return early, possibly with none.

        Raises:
            DurableStreamUnavailableError: The connection is gone. The engine closes this watch and opens another.
        """
        ...

    def interrupt(self) -> None:
        """Make a ``wait`` that runs now, or the next one, return at once. From any thread."""
        ...

    def close(self) -> None:
        """Release the connection. Idempotent, never raises."""
        ...


class Backend(Protocol):
    """One store of ordered records."""

    @property
    def capabilities(self) -> Capabilities:
        """What this store can do. Without I/O."""
        ...

    def append(self, entries: Sequence[Entry], timeout: float) -> Sequence[AppendOutcome]:
        """Store entries of many topics, with at most one round trip per node.

        Entries of one topic keep their order. One entry's fate never decides its neighbours'. A write whose outcome is
        unknown is never sent again. Returns after the store's acknowledgement. A store that locks topics answers
        ``AppendDeferred`` where somebody else holds one and the entry is not to wait (``Entry.may_wait``).

        Args:
            timeout: Seconds after which an entry that was not yet sent is refused, and one that was is unknown.

        Returns:
            One outcome per entry, in order. An error that is raised instead decides for all entries: certainly not
            stored, unless its ``maybe_stored`` is set.
        """
        ...

    def bounds(self, topic: str) -> Bounds | Unborn:
        """Return where a topic stands, in one atomic look. Writes nothing and needs no write rights."""
        ...

    def read(self, requests: Sequence[ReadRequest]) -> Sequence[ReadOutcome]:
        """Read many topics at once.

        Per request, checking that ``after`` still holds and reading after it is one atomic step.
        ``PositionLost`` is never missing where something was lost. There is no timeout: the store bounds its own
        waiting, and so do ``bounds`` and ``seal``.

        Returns:
            One outcome per request, in order.
        """
        ...

    def seal(self, topic: str, error: str | None) -> None:
        """End a topic, creating it if need be. Idempotent: the first seal stands. Never undone by retention."""
        ...

    def watch(self) -> Watch:
        """Open a watch. The engine opens one, and another after it failed."""
        ...

    def close(self) -> None:
        """Release everything. Idempotent, never raises, unblocks what waits."""
        ...


@runtime_checkable
class Maintenance(Protocol):
    """Operations on a store; a second interface that a ``Backend`` may also satisfy. Never used by topics."""

    def topics(self, prefix: str = "", after: str = "", limit: int = 1000) -> Sequence[TopicInfo]:
        """List existing topics in byte order of their names, strictly after ``after``."""
        ...

    def trim(self, topic: str, retention: Retention) -> int:
        """Apply ``retention`` to one topic now and in full; return how many records were removed."""
        ...

    def delete(self, topic: str) -> bool:
        """Remove a topic with everything in it; return whether it existed. Leaves a tombstone."""
        ...

    def sweep(self, budget: SweepBudget) -> SweepReport:
        """Apply the configured retention to all topics, within a budget. A later sweep goes on where this one ended."""
        ...
