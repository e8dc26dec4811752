"""The Redis store: what the engine calls.

Reading: ``reading.py``. Changing: ``writing.py`` and ``scripts/``. Being told: ``watch.py``, ``sharded.py``. Which
servers: ``opening.py``, ``nodes.py``, ``cluster.py``, ``sentinel.py``. Operations: ``maintenance.py`` and ``sweep.py``.
How they are set: ``settings.py``, ``durability.py``, ``examination.py``.
"""

import time
from collections.abc import Sequence

from typing_extensions import override

from tailrace.backends.handle import Handle, patience
from tailrace.backends.redis.cluster import Cluster
from tailrace.backends.redis.durability import ASKED, sentence
from tailrace.backends.redis.examination import examine
from tailrace.backends.redis.keys import DEFAULT_PREFIX, Keys
from tailrace.backends.redis.lapses import Lapses
from tailrace.backends.redis.listening import Listening
from tailrace.backends.redis.maintenance import RedisMaintenance, Upkeep
from tailrace.backends.redis.news import News
from tailrace.backends.redis.opening import nodes_of, places_of
from tailrace.backends.redis.reading import Reading
from tailrace.backends.redis.replication import Confirmation
from tailrace.backends.redis.settings import look
from tailrace.backends.redis.sharded import ShardedWatch
from tailrace.backends.redis.sweep import Sweeper
from tailrace.backends.redis.watch import RedisWatch
from tailrace.backends.redis.writing import Writing
from tailrace.errors import DurableStreamUnavailableError
from tailrace.forks import renew_in_child
from tailrace.options import StoreOptions, StoreURL
from tailrace.spi import (
    AppendOutcome,
    AppendRefused,
    Backend,
    Bounds,
    Capabilities,
    Entry,
    Examinable,
    Findings,
    ReadOutcome,
    ReadRequest,
    Unborn,
)


class RedisStore(Handle, RedisMaintenance, Examinable):
    """One handle on Redis or Valkey servers. Thread-safe; reopens after a fork.

    Also implements ``Maintenance`` and ``Examinable``.

    Args:
        client: A synchronous ``redis.Redis`` (also one that ``Sentinel.master_for`` made) or ``RedisCluster``, whose
            settings are used (its connections are not), or places as ``opening.py`` reads them.
        prefix: Of all keys.
        wait_replicas: How many replicas have to confirm an append or a seal; with fewer, its outcome is unknown.
        wait_timeout: Seconds that they have for it.
        options: Retention and timeouts.

    Raises:
        InvalidArgumentError: The client or the prefix can not be used.
        StoreUnusableError: The server can not be used; the message says why and what to do.
        DurableStreamUnavailableError: The server is away.
    """

    def __init__(
        self,
        client: object,
        *,
        prefix: str = DEFAULT_PREFIX,
        wait_replicas: int = 0,
        wait_timeout: float = 1.0,
        options: StoreOptions | None = None,
    ) -> None:
        super().__init__()
        options = options or StoreOptions()
        confirmation = self._confirmation = Confirmation(wait_replicas, wait_timeout)
        nodes = self._nodes = nodes_of(client)
        keys = self._keys = Keys(prefix, nodes.database)
        self._patience = patience(options)
        self._news = News()
        self._lapses = Lapses()
        self._reading = Reading(nodes, keys, self._news, options.tombstone_for, self._patience)
        self._writing = Writing(nodes, keys, options, confirmation)
        self._upkeep = Upkeep(nodes, keys, self._writing, options)
        self._sweeper = Sweeper(self._upkeep)
        try:
            self._product = nodes.greet(self._patience)
            confirmation.check(nodes, self._patience)
            self._durability = sentence(look(nodes, 0, ASKED, self._patience)[0], confirmation)
        except BaseException:
            self.close()
            raise
        if nodes.sharded:
            self._writing.publish = b"SPUBLISH"
        renew_in_child(self)

    def __repr__(self) -> str:
        return f"RedisStore({self._nodes.name}, prefix={self._keys.prefix!r}{', closed' if self._closed else ''})"

    @property
    @override
    def capabilities(self) -> Capabilities:
        return Capabilities(
            store=self._product,
            durable=True,
            durability=self._durability,
            shared=True,
            enforces=frozenset({"records", "bytes"}),
            gevent="cooperative",
            fork="reopens",
            notes=(
                "Age is enforced by appends to the topic, and by sweeps where none come; "
                "a limit may be passed by a sixteenth between two cuts, an age by a sixty-fourth.",
                "Records that somebody else removes from the stream, or that are evicted, are told as lost.",
            ),
        )

    @override
    def append(self, entries: Sequence[Entry], timeout: float) -> Sequence[AppendOutcome]:
        if self._closed:
            return [AppendRefused(DurableStreamUnavailableError("the store is closed"))] * len(entries)
        return self._writing.append(entries, timeout)

    @override
    def bounds(self, topic: str) -> Bounds | Unborn:
        self._check_open()
        return self._reading.bounds(topic)

    @override
    def read(self, requests: Sequence[ReadRequest]) -> Sequence[ReadOutcome]:
        self._check_open()
        return self._reading.read(requests)

    @override
    def seal(self, topic: str, error: str | None) -> None:
        self._check_open()
        self._writing.seal(topic, error)

    @override
    def examine(self) -> Findings:
        self._check_open()
        return examine(self._nodes, self._confirmation, self._patience)

    @override
    def _open_watch(self) -> Listening:
        nodes, lapses = self._nodes, self._lapses
        if time.monotonic() < lapses.over_at:
            raise DurableStreamUnavailableError(
                f"{nodes.name} broke off its hints again and again: not asked right now"
            )
        if nodes.sharded and isinstance(nodes, Cluster):
            return ShardedWatch(nodes, self._keys, self._news, lapses, self._patience)
        return RedisWatch(nodes, self._keys, self._news, lapses, self._patience)

    @override
    def _disconnect(self) -> None:
        self._nodes.close()


def open_store(url: StoreURL, options: StoreOptions) -> Backend:
    """Open ``redis://host:port/0`` or another URL that ``opening.py`` knows."""
    confirmation, url = Confirmation.taken_from(url)
    places, prefix = places_of(url)
    return RedisStore(
        places,
        prefix=prefix,
        wait_replicas=confirmation.replicas,
        wait_timeout=confirmation.timeout,
        options=options,
    )
