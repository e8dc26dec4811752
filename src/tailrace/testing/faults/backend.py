"""A store handle that misbehaves on demand, and counts what it is asked.

backend = FaultyBackend(store.open())
backend.next("append", LoseReply(), times=2)     # the next two appends
backend.always("read", Fail())                   # every read, until ...
backend.heal()
"""

import dataclasses
import threading
from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias, TypeVar

from tailrace import spi
from tailrace.retention import Retention
from tailrace.testing.faults.kinds import Fail, Fault
from tailrace.testing.faults.watch import FaultyWatch

T = TypeVar("T")
Method: TypeAlias = Literal["append", "bounds", "read", "seal", "watch", "wait", "follow"]

_METHODS: tuple[Method, ...] = ("append", "bounds", "read", "seal", "watch", "wait", "follow")


class FaultyBackend(spi.Backend):
    """Wraps a handle. Thread-safe. Operations pass through untouched and are not counted.

    Attributes:
        calls: How often each method was called, faults included.
        entries: How many entries were handed to ``append``, faults included.
        records_read: How many records ``read`` has returned.
        hints: Whether watches pass on what they hear; set it to ``False`` to lose hints.
        watches: The watches that were opened, the newest last.
    """

    def __init__(self, inner: spi.Backend) -> None:
        self.calls: Counter[str] = Counter()
        self.entries = 0
        self.records_read = 0
        self.hints = True
        self.watches: list[FaultyWatch] = []
        self._inner = inner
        self._lock = threading.Lock()
        self._next: dict[str, deque[Fault]] = {method: deque() for method in _METHODS}
        self._always: dict[str, Fault] = {}

    def next(self, method: Method, fault: Fault, *, times: int = 1) -> None:
        """Let the next ``times`` calls of a method meet a fault, after those planned before."""
        with self._lock:
            self._next[method].extend([fault] * times)

    def always(self, method: Method, fault: Fault) -> None:
        """Let every call of a method meet a fault from now on, once none is planned by ``next``."""
        with self._lock:
            self._always[method] = fault

    def go_away(self) -> None:
        """Let nothing reach the store, and break the watches, until ``heal``."""
        for method in _METHODS:
            self.always(method, Fail())
        for watch in tuple(self.watches):
            watch.interrupt()

    def heal(self) -> None:
        """Forget every fault that is planned."""
        with self._lock:
            self._always.clear()
            for planned in self._next.values():
                planned.clear()

    @property
    def capabilities(self) -> spi.Capabilities:
        # It may hang where the store it wraps could not.
        return dataclasses.replace(self._inner.capabilities, local=False)

    def append(self, entries: Sequence[spi.Entry], timeout: float) -> Sequence[spi.AppendOutcome]:
        with self._lock:
            self.entries += len(entries)
        return self.perform("append", lambda: self._inner.append(entries, timeout))

    def bounds(self, topic: str) -> spi.Bounds | spi.Unborn:
        return self.perform("bounds", lambda: self._inner.bounds(topic))

    def read(self, requests: Sequence[spi.ReadRequest]) -> Sequence[spi.ReadOutcome]:
        outcomes = self.perform("read", lambda: self._inner.read(requests))
        with self._lock:
            self.records_read += sum(len(page.records) for page in outcomes if isinstance(page, spi.Page))
        return outcomes

    def seal(self, topic: str, error: str | None) -> None:
        self.perform("seal", lambda: self._inner.seal(topic, error))

    def watch(self) -> spi.Watch:
        watch = FaultyWatch(self, self.perform("watch", self._inner.watch))
        self.watches.append(watch)
        return watch

    def close(self) -> None:
        self._inner.close()

    def topics(self, prefix: str = "", after: str = "", limit: int = 1000) -> Sequence[spi.TopicInfo]:
        return self._operations.topics(prefix, after, limit)

    def trim(self, topic: str, retention: Retention) -> int:
        return self._operations.trim(topic, retention)

    def delete(self, topic: str) -> bool:
        return self._operations.delete(topic)

    def sweep(self, budget: spi.SweepBudget) -> spi.SweepReport:
        return self._operations.sweep(budget)

    def perform(self, method: Method, call: Callable[[], T]) -> T:
        """Perform one call, or the fault that waits for it."""
        with self._lock:
            self.calls[method] += 1
            planned = self._next[method]
            fault = planned.popleft() if planned else self._always.get(method)
        return call() if fault is None else fault(call)

    @property
    def _operations(self) -> spi.Maintenance:
        assert isinstance(self._inner, spi.Maintenance)
        return self._inner
