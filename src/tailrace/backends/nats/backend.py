"""The NATS JetStream store: what the engine calls.

Everything happens on one native thread (``loop.py``), over one connection (``link.py``, ``session.py``). Messages:
``frames.py``. Reading: ``looking.py``, ``reading.py``, ``pages.py``. Changing: ``committing.py``, ``writing.py``. Being
told: ``watch.py``, ``news.py``. The stream and the bucket: ``ground.py``, ``ledger.py``. Operations:
``maintenance.py``, ``upkeep.py``, ``sweep.py``. How the servers are set: ``examination.py``.
"""

import functools
from collections.abc import Sequence

from typing_extensions import override

from tailrace import limits
from tailrace.backends.handle import Handle, patience
from tailrace.backends.nats.core import Core
from tailrace.backends.nats.examination import examine
from tailrace.backends.nats.frames import OVERHEAD
from tailrace.backends.nats.location import Location, locate
from tailrace.backends.nats.maintenance import NatsMaintenance
from tailrace.backends.nats.news import News
from tailrace.backends.nats.watch import NatsWatch
from tailrace.backends.vigil import Vigil
from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError
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

READING = 3.0
"""Seconds that a read may take, elections included: who rides out an outage asks again, and has to hear of it."""


class NatsStore(Handle, NatsMaintenance, Examinable):
    """One handle on a NATS server or cluster. Thread-safe; reopens after a fork.

    Also implements ``Maintenance`` and ``Examinable``.

    Args:
        location: Which servers, and what the store is called there.
        options: Retention and timeouts. The stream and the bucket are made only with ``create=True``.

    Raises:
        StoreUnusableError: The store can not be used; the message says why and what to do.
        DurableStreamUnavailableError: The servers are away.
    """

    def __init__(self, location: Location, options: StoreOptions | None = None) -> None:
        super().__init__()
        options = self._options = options or StoreOptions()
        self._location = location
        self._news = News()
        core = self._core = Core(location, options, patience(options))
        try:
            core.run(self._find)
        except BaseException:
            self.close()
            raise
        renew_in_child(self)

    def __repr__(self) -> str:
        names = self._location.names
        return f"NatsStore({self._location.name}, stream={names.store!r}{', closed' if self._closed else ''})"

    @property
    @override
    def capabilities(self) -> Capabilities:
        ground = self._core.ground
        room = ground.max_payload - OVERHEAD
        return Capabilities(
            store=f"NATS JetStream {'.'.join(map(str, ground.version))}",
            durable=True,
            durability=ground.durability,
            shared=True,
            gap_detection="conservative" if ground.limited else "exact",
            atomic_batches=False,
            gevent="native-thread",
            fork="reopens",
            max_payload=min(limits.MAX_PAYLOAD_BYTES, room),
            limited_by="the limit of this library"
            if room > limits.MAX_PAYLOAD_BYTES
            else "max_payload of the NATS server",
            notes=ground.notes,
        )

    @override
    def append(self, entries: Sequence[Entry], timeout: float) -> Sequence[AppendOutcome]:
        if self._closed:
            return [AppendRefused(DurableStreamUnavailableError("the store is closed"))] * len(entries)
        return self._core.run(lambda deadline: self._core.writing.append(entries, deadline), timeout)

    @override
    def bounds(self, topic: str) -> Bounds | Unborn:
        self._check_open()
        return self._core.run(lambda deadline: self._core.reading.bounds(topic, deadline))

    @override
    def read(self, requests: Sequence[ReadRequest]) -> Sequence[ReadOutcome]:
        self._check_open()
        told = [self._news.take(request) for request in requests]
        if None not in told:
            return told  # type: ignore[return-value]
        left = [request for request, page in zip(requests, told, strict=True) if page is None]
        # It is older than this look, and whoever comes later would be answered from it about a place that may be gone.
        self._news.forget([request.topic for request in left])
        work = functools.partial(self._core.reading.read, left)
        asked = iter(self._core.run(work, min(READING, self._core.patience)))
        return [page or next(asked) for page in told]

    @override
    def seal(self, topic: str, error: str | None) -> None:
        self._check_open()
        self._core.run(lambda deadline: self._core.writing.seal(topic, error, deadline))

    @override
    def examine(self) -> Findings:
        self._check_open()
        return self._core.run(lambda deadline: examine(self._core, deadline))

    @override
    def _open_watch(self) -> Vigil:
        return NatsWatch(self._core, self._news)

    @override
    def _disconnect(self) -> None:
        self._core.close()

    @override
    def _forget(self) -> None:
        self._news.clear()
        self._core.forget()

    async def _find(self, deadline: float) -> None:
        ground = self._core.ground
        if await ground.look(deadline):
            return
        if self._options.create is not True:
            raise StoreUnusableError(
                f"{self._location.name} has no store called {ground.names.store}: make it with `tailrace migrate`, or "
                "open it with create=True"
            )
        await ground.make(deadline)


def open_store(url: StoreURL, options: StoreOptions) -> Backend:
    """Open ``nats://user:password@host:4222,host:4222/?stream=tailrace&layout=shared&replicas=3``."""
    return NatsStore(locate(url), options)
