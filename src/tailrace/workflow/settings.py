"""What a service of Workflow Streams can be told, in one frozen dataclass. No I/O."""

from dataclasses import dataclass
from typing import Literal

from tailrace.errors import InvalidArgumentError
from tailrace.options import positive_count, positive_seconds
from tailrace.workflow.bounds import is_namespace
from tailrace.workflow.model import DEFAULT_NAMESPACE

DAY = 86400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowSettings:
    """Which runs there are, and for how long.

    Attributes:
        namespaces: Names of those that are served; lower case.
        runs: ``"implicit"``: a run begins with its first append. ``"registered"``: somebody has to start it first.
        run_retention: Seconds that a run is kept after its end; ``None``: until somebody deletes it. Its streams
            expire by themselves all the same.
        tombstone_for: Seconds that streams of a deleted run are remembered, for readers who still wait.
        sweep_items: Items that one pass of retention removes, at most.
        sweep_transactions: Transactions that one pass takes, at most.
        retry_after: Seconds after which a stream or run is tried again that could not be removed.
    """

    namespaces: frozenset[str] = frozenset({DEFAULT_NAMESPACE})
    runs: Literal["implicit", "registered"] = "implicit"
    run_retention: float | None = None
    tombstone_for: float = 30 * DAY
    sweep_items: int = 50_000
    sweep_transactions: int = 1_000
    retry_after: float = 60.0

    def __post_init__(self) -> None:
        if not self.namespaces or not all(map(is_namespace, self.namespaces)):
            raise InvalidArgumentError("namespaces must be one or more names of printable ASCII in lower case")
        if self.runs not in ("implicit", "registered"):
            raise InvalidArgumentError('runs must be "implicit" or "registered"')
        for name in ("tombstone_for", "retry_after"):
            positive_seconds(name, getattr(self, name))
        if self.run_retention is not None and self.run_retention != 0:
            positive_seconds("run_retention", self.run_retention)
        for name in ("sweep_items", "sweep_transactions"):
            positive_count(name, getattr(self, name))
