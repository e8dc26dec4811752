"""The memory store: the contract in its plainest form, one lock around a dictionary of logs.

Every other store is held to what this one does. ``memory://`` is a store of its own per client;
``memory://name`` is shared by all clients of this process that name it.
"""

import copy
import threading
import time
import weakref
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tailrace.backends.memory.log import TopicLog, new_tag
from tailrace.backends.memory.watch import MemoryWatch
from tailrace.errors import DurableStreamUnavailableError, InvalidArgumentError, TopicSealedError
from tailrace.forks import renew_in_child
from tailrace.options import StoreOptions, StoreURL
from tailrace.retention import Retention
from tailrace.spi import (
    Appended,
    AppendOutcome,
    AppendRefused,
    Backend,
    Bounds,
    Capabilities,
    Entry,
    Page,
    PositionLost,
    ReadOutcome,
    ReadRequest,
    Seal,
    SweepBudget,
    SweepReport,
    TopicInfo,
    Unborn,
    Watch,
    lost_birth,
    lost_place,
)

_CAPABILITIES = Capabilities(
    store="memory",
    durable=False,
    durability="An acknowledged record lives as long as this process.",
    shared=False,
    enforces=frozenset({"records", "bytes"}),
    gevent="cooperative",
    fork="reopens",
    local=True,
    notes=("Age is enforced by sweeps.",),
)


@dataclass(frozen=True)
class MemoryBackup:
    """A copy of a store's topics at one moment."""

    logs: dict[str, TopicLog]
    graves: dict[str, tuple[int, float]]


class MemoryState:
    """What all handles on one memory store share."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.logs: dict[str, TopicLog] = {}
        self.graves: dict[str, tuple[int, float]] = {}
        self.watches: list[MemoryWatch] = []
        self.swept = ""


class MemoryStore(Backend):
    """One handle on a memory store. Also implements ``Maintenance``. Thread-safe.

    Args:
        options: Retention and timeouts.
        beside: Another handle, to share its topics as a second process would share a file.
    """

    def __init__(self, options: StoreOptions | None = None, *, beside: "MemoryStore | None" = None) -> None:
        self._options = options or StoreOptions()
        self._state: MemoryState = MemoryState() if beside is None else beside._state
        # Weak: whoever opened a watch and closed it is done with it, long before this handle is closed.
        self._own_watches: weakref.WeakSet[MemoryWatch] = weakref.WeakSet()
        self._closed = False
        renew_in_child(self)

    @property
    def capabilities(self) -> Capabilities:
        return _CAPABILITIES

    def append(self, entries: Sequence[Entry], timeout: float) -> Sequence[AppendOutcome]:
        now = self._now()
        tag = new_tag()
        with self._state.lock:
            self._check_open()
            outcomes = [self._append_one(entry, tag, now) for entry in entries]
        self._announce([entry.topic for entry in entries])
        return outcomes

    def _append_one(self, entry: Entry, tag: int, now: float) -> AppendOutcome:
        log = self._state.logs.get(entry.topic)
        if log is None:
            log = self._state.logs[entry.topic] = TopicLog(touched=now)
        if log.seal is not None:
            return AppendRefused(TopicSealedError("the topic is sealed: nothing can be appended to it any more"))
        end = log.extend(entry.payloads, tag, now)
        keep = self._options.kept(entry.topic)
        if keep.max_records is not None or keep.max_bytes is not None:
            # Age is left to sweeps: nothing is older than the epoch.
            log.trim(keep, 0.0)
        return Appended(end)

    def bounds(self, topic: str) -> Bounds | Unborn:
        with self._state.lock:
            self._check_open()
            log = self._state.logs.get(topic)
            return self._unborn(topic) if log is None else log.bounds()

    def read(self, requests: Sequence[ReadRequest]) -> Sequence[ReadOutcome]:
        with self._state.lock:
            self._check_open()
            return [self._read_one(request) for request in requests]

    def _read_one(self, request: ReadRequest) -> ReadOutcome:
        log = self._state.logs.get(request.topic)
        after = request.after
        if isinstance(after, Unborn):
            unborn = self._unborn(request.topic)
            lost = lost_birth(after, unborn.grave, unborn.seen_at, self._options.tombstone_for)
            if lost is not None or log is None:
                return lost or Page((), after)
            after = log.birth
        if log is None:
            return PositionLost("the topic was deleted")
        return lost_place(after, log.bounds(), log.tag_at) or log.page(request, after)

    def seal(self, topic: str, error: str | None) -> None:
        with self._state.lock:
            self._check_open()
            log = self._state.logs.get(topic)
            if log is None:
                log = self._state.logs[topic] = TopicLog(touched=self._now())
            if log.seal is None:
                log.seal = Seal(error)
        self._announce([topic])

    def watch(self) -> Watch:
        watch = MemoryWatch(self._state.watches)
        with self._state.lock:
            self._check_open()
            self._state.watches.append(watch)
            self._own_watches.add(watch)
        return watch

    def close(self) -> None:
        self._closed = True
        for watch in tuple(self._own_watches):
            watch.close()

    def after_fork(self) -> None:
        """Go on with a copy of the topics; the lock may have been held by a thread that the child does not have."""
        self._state.lock = threading.Lock()
        self._state.watches.clear()
        self._own_watches.clear()

    def topics(self, prefix: str = "", after: str = "", limit: int = 1000) -> Sequence[TopicInfo]:
        with self._state.lock:
            self._check_open()
            names = sorted((name for name in self._state.logs if name.startswith(prefix)), key=str.encode)
            later = [name for name in names if name.encode() > after.encode()]
            return [self._info(name) for name in later[:limit]]

    def trim(self, topic: str, retention: Retention) -> int:
        with self._state.lock:
            self._check_open()
            log = self._state.logs.get(topic)
            # Nobody is told: whoever waits stands at the tail, which this does not move.
            return 0 if log is None else log.trim(retention, self._cut(retention))

    def delete(self, topic: str) -> bool:
        with self._state.lock:
            self._check_open()
            log = self._state.logs.pop(topic, None)
            if log is not None:
                self._state.graves[topic] = (log.incarnation, self._now())
        self._announce([topic])
        return log is not None

    def sweep(self, budget: SweepBudget) -> SweepReport:
        deadline = time.monotonic() + budget.max_seconds
        topics = records = size = forgotten = 0
        with self._state.lock:
            self._check_open()
            names = sorted(self._state.logs)
            turn = [*(n for n in names if n > self._state.swept), *(n for n in names if n <= self._state.swept)]
            for name in turn:
                if records >= budget.max_records or time.monotonic() > deadline:
                    return SweepReport(topics, records, size, forgotten, done=False)
                log = self._state.logs[name]
                before = log.size
                keep = self._options.kept(name)
                records += log.trim(keep, self._cut(keep))
                size += before - log.size
                topics += 1
                self._state.swept = name
                forgotten += self._forget(name, log)
            self._expire_graves()
        return SweepReport(topics, records, size, forgotten, done=True)

    def backup(self) -> "MemoryBackup":
        """Return a copy of every topic, for tests of restored stores."""
        with self._state.lock:
            return MemoryBackup(copy.deepcopy(self._state.logs), copy.deepcopy(self._state.graves))

    def restore(self, backup: "MemoryBackup") -> None:
        """Put a copy back, as an operator would."""
        with self._state.lock:
            self._state.logs, self._state.graves = copy.deepcopy(backup.logs), copy.deepcopy(backup.graves)
            names = list(self._state.logs)
        self._announce(names)

    def _announce(self, topics: Collection[str]) -> None:
        # After the change is visible and outside the lock: a hint that came earlier could be
        # answered with a read that still sees nothing, and would be spent.
        for watch in tuple(self._state.watches):
            watch.moved(topics)

    def _unborn(self, topic: str) -> Unborn:
        grave = self._state.graves.get(topic)
        return Unborn(int(self._now() * 1e6), 0 if grave is None else grave[0])

    def _forget(self, name: str, log: TopicLog) -> bool:
        forget_after = self._options.forget_after
        if forget_after is None or log.records or log.seal is not None:
            return False
        if self._now() - log.touched < forget_after:
            return False
        del self._state.logs[name]
        self._state.graves[name] = (log.incarnation, self._now())
        return True

    def _expire_graves(self) -> None:
        oldest = self._now() - self._options.tombstone_for
        self._state.graves = {name: grave for name, grave in self._state.graves.items() if grave[1] >= oldest}

    def _info(self, name: str) -> TopicInfo:
        log = self._state.logs[name]
        return TopicInfo(name, log.records, log.size, log.touched if log.last.position else None, log.seal)

    def _cut(self, retention: Retention) -> float:
        if retention.max_age is None:
            return 0.0
        return self._now() - retention.max_age - self._options.append_timeout

    def _now(self) -> float:
        return time.time()

    def _check_open(self) -> None:
        if self._closed:
            raise DurableStreamUnavailableError("the store is closed")


_named: dict[str, MemoryStore] = {}


def open_store(url: StoreURL, options: StoreOptions) -> Backend:
    """Open ``memory://`` or ``memory://name``."""
    if url.query:
        raise InvalidArgumentError(f"memory:// has no setting called {min(url.query)}")
    if not url.location:
        return MemoryStore(options)
    return MemoryStore(options, beside=_named.setdefault(url.location, MemoryStore()))
