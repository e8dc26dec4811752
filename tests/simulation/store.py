"""The memory store with scripted faults and latency, which writes down what was really in it at every moment."""

import dataclasses
from collections.abc import Collection, Sequence
from itertools import cycle

from tests.simulation.history import History
from tests.simulation.plan import Hints
from tests.simulation.truth import Node, Version
from tests.simulation.watch import SimulatedWatch
from tests.simulation.world import InterruptedHere, World

from tailrace.backends.memory import MemoryStore
from tailrace.backends.memory import backend as memory_backend
from tailrace.backends.memory import log as memory_log
from tailrace.errors import DurableStreamUnavailableError
from tailrace.options import StoreOptions
from tailrace.retention import Retention
from tailrace.spi import (
    AppendDeferred,
    Appended,
    AppendOutcome,
    AppendRefused,
    AppendUnknown,
    Backend,
    Bounds,
    Capabilities,
    Entry,
    ReadFailed,
    ReadOutcome,
    ReadRequest,
    Unborn,
    Watch,
)


class SimulatedStore(Backend):
    """One store in one world.

    Attributes:
        append_faults: What happens to the next calls of ``append``, in order.
        interrupt_read: Whether the next read of the pump raises what is no ``Exception``.
    """

    def __init__(
        self,
        world: World,
        history: History,
        options: StoreOptions,
        hints: Hints,
        latencies: Sequence[float],
        *,
        local: bool,
    ) -> None:
        self.world = world
        self.history = history
        self.append_faults: list[str] = []
        self.interrupt_read = False
        self.hints = hints
        self._inner = MemoryStore(options)
        self._local = local
        self._latency = cycle(latencies)
        self._outages: dict[str, str] = {}
        self._locked: dict[str, float] = {}
        self._watches: list[SimulatedWatch] = []
        self._identities = iter(range(1, 2**31))

    @property
    def capabilities(self) -> Capabilities:
        return dataclasses.replace(self._inner.capabilities, local=self._local)

    def append(self, entries: Sequence[Entry], timeout: float) -> Sequence[AppendOutcome]:
        fault = self.append_faults.pop(0) if self.append_faults else ""
        if fault:
            self.history.trouble("interrupt" if fault.startswith("interrupted") else "appends", timeout)
        self._take_time()
        if fault == "slow":
            self.world.sleep(timeout * 0.8)
        if fault == "refused" or "appends" in self._outages:
            raise DurableStreamUnavailableError("away")
        if fault == "request lost":
            raise DurableStreamUnavailableError("no answer", maybe_stored=True)
        if fault == "foreign":
            raise RuntimeError("a bug of the adapter")
        if fault == "interrupted":
            self._interrupt()
        if fault == "mixed":
            return [self._mixed(number, entry, timeout) for number, entry in enumerate(entries)]
        outcomes = self._commit_unlocked(entries, timeout)
        if fault == "stuck":
            self.world.sleep(timeout)
            fault = "reply lost"
        if fault == "reply lost":
            raise DurableStreamUnavailableError("no answer", maybe_stored=True)
        if fault == "foreign, stored":
            raise RuntimeError("a bug of the adapter")
        if fault == "interrupted, stored":
            self._interrupt()
        self._take_time()
        return outcomes

    def commit(self, entries: Sequence[Entry], timeout: float = 1.0) -> Sequence[AppendOutcome]:
        """Append in no time, as this store or another process would."""
        before = {entry.topic: self._last(entry.topic) for entry in entries}
        outcomes = self._inner.append(entries, timeout)
        for entry, outcome in zip(entries, outcomes, strict=True):
            if isinstance(outcome, Appended):
                before[entry.topic] = self._grow(entry, outcome, before[entry.topic])
        self._changed(sorted({entry.topic for entry in entries}))
        return outcomes

    def _commit_unlocked(self, entries: Sequence[Entry], timeout: float) -> Sequence[AppendOutcome]:
        until = self.world.now + timeout
        for topic in {entry.topic for entry in entries if entry.may_wait}:
            self.world.sleep(max(0.0, min(until, self._locked.get(topic, 0.0)) - self.world.now))
        free = [entry for entry in entries if self._locked.get(entry.topic, 0.0) <= self.world.now]
        done = dict(zip(map(id, free), self.commit(free, timeout), strict=True)) if free else {}
        return [done.get(id(entry), AppendDeferred()) for entry in entries]

    def bounds(self, topic: str) -> Bounds | Unborn:
        self._take_time()
        self._fail_if_away("reads")
        bounds = self._inner.bounds(topic)
        self._take_time()
        return bounds

    def read(self, requests: Sequence[ReadRequest]) -> Sequence[ReadOutcome]:
        self._take_time()
        if self.interrupt_read and "pump" in self.world.current.name:
            self.interrupt_read = False
            self.history.trouble("pump")
            raise InterruptedHere
        if self._outages.get("reads") == "each":
            return [ReadFailed(DurableStreamUnavailableError("away"))] * len(requests)
        self._fail_if_away("reads")
        outcomes = self._inner.read(requests)
        self._take_time()
        return outcomes

    def seal(self, topic: str, error: str | None) -> None:
        self._take_time()
        self._fail_if_away("appends")
        self.seal_at_once(topic, error)
        self._take_time()

    def watch(self) -> Watch:
        self._take_time()
        self._fail_if_away("watch")
        watch = SimulatedWatch(self.world, self.hints, self._watches, lambda: "watch" in self._outages)
        self._watches.append(watch)
        return watch

    def close(self) -> None:
        for watch in tuple(self._watches):
            watch.close()

    # What operators and other processes do: at once, and without this client's help.

    def seal_at_once(self, topic: str, error: str | None) -> None:
        self._inner.seal(topic, error)
        self._changed([topic])

    def trim(self, topic: str, keep: int) -> None:
        self._inner.trim(topic, Retention(max_records=keep))
        self._changed([topic])

    def delete(self, topic: str) -> None:
        self._inner.delete(topic)
        self._changed([topic])

    def backup(self) -> memory_backend.MemoryBackup:
        return self._inner.backup()

    def restore(self, backup: memory_backend.MemoryBackup) -> None:
        self._inner.restore(backup)
        self._changed(sorted(self.history.truth.versions))

    def lock(self, topic: str, seconds: float) -> None:
        """Hold a topic locked, as somebody else's transaction does: this client's appends wait, or are deferred."""
        self._locked[topic] = self.world.now + seconds

    def fail(self, what: str, how: str) -> None:
        """Let every call of a kind fail from now on."""
        self._outages[what] = how
        if what == "watch":
            for watch in tuple(self._watches):
                watch.interrupt()

    def recover(self, what: str) -> None:
        """Let a kind of calls succeed again."""
        self._outages.pop(what, None)

    def break_watch(self) -> None:
        """Lose the watch that is open, once."""
        for watch in tuple(self._watches):
            watch.break_off()

    def move_everything(self) -> None:
        """Hint that any topic may have moved, as a store does that lost count."""
        for watch in tuple(self._watches):
            watch.moved((), anything=True)

    def new_identity(self) -> int:
        """Return what the memory store otherwise draws at random."""
        return next(self._identities) * 2654435761 % 2**32

    def _interrupt(self) -> None:
        # Once: what is promised about an interruption is not promised about two.
        self.world.interrupt_after(0)
        raise InterruptedHere

    def _mixed(self, number: int, entry: Entry, timeout: float) -> AppendOutcome:
        if number % 3 == 0:
            return self.commit([entry], timeout)[0]
        if number % 3 == 1:
            return AppendRefused(DurableStreamUnavailableError("this node is away"))
        self.commit([entry], timeout)
        return AppendUnknown(DurableStreamUnavailableError("no answer"))

    def _grow(self, entry: Entry, outcome: Appended, parent: Node | None) -> Node:
        truth, end = self.history.truth, outcome.end
        if parent is None or parent.life != end.incarnation:
            parent = self._root(entry.topic, end.incarnation)
        position = end.position - len(entry.payloads)
        for payload in entry.payloads:
            position += 1
            sequence, now = self.world.tick(), self.world.now
            parent = Node(end.incarnation, parent.depth + 1, payload, parent, sequence, now)
            truth.nodes[entry.topic, (end.incarnation, position, end.tag)] = parent
            truth.by_payload.setdefault(payload, []).append(parent)
        return parent

    def _root(self, topic: str, life: int) -> Node:
        key = topic, (life, 0, 0)
        nodes = self.history.truth.nodes
        if key not in nodes:
            nodes[key] = Node(life, 0, None, None, self.world.tick(), self.world.now)
        return nodes[key]

    def _last(self, topic: str) -> Node | None:
        log = self._inner._state.logs.get(topic)
        if log is None:
            return None
        return self._root(topic, log.incarnation) if log.last.position == 0 else self._node(topic, log)

    def _node(self, topic: str, log: memory_log.TopicLog) -> Node:
        return self.history.truth.nodes[topic, log.last]

    def _changed(self, topics: Collection[str]) -> None:
        for topic in topics:
            log = self._inner._state.logs.get(topic)
            grave = self._inner._state.graves.get(topic, (0, 0.0))[0]
            tip = self._last(topic)
            sequence, now = self.world.tick(), self.world.now
            if log is None:
                version = Version(sequence, now, grave=grave)
            else:
                seal = log.seal
                version = Version(
                    sequence,
                    now,
                    tip,
                    log.horizon.position,
                    seal is not None,
                    None if seal is None else seal.error,
                    grave,
                )
            self.history.truth.add(topic, version)
        for watch in tuple(self._watches):
            watch.moved(topics)

    def _take_time(self) -> None:
        self.world.point()
        self.world.sleep(next(self._latency))

    def _fail_if_away(self, what: str) -> None:
        how = self._outages.get(what)
        if how == "foreign":
            raise RuntimeError("a bug of the adapter")
        if how is not None:
            raise DurableStreamUnavailableError("away")
