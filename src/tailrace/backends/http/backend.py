"""The store over HTTP: what the engine calls. Everything is asked of a server, which serves a store of its own.

Requests: ``calls.py`` on connections of ``line.py``. Appending: ``writing.py``. Reading: ``reading.py``. Being told:
``watch.py``. What an answer means that nobody expected: ``answers.py``. What crosses: ``tailrace.wire``.
"""

import dataclasses
import time
from collections.abc import Sequence

from typing_extensions import override

from tailrace import wire
from tailrace.backends.handle import Handle, patience
from tailrace.backends.http import reading, writing
from tailrace.backends.http.calls import Calls, whole
from tailrace.backends.http.location import Location, locate
from tailrace.backends.http.maintenance import HttpMaintenance
from tailrace.backends.http.watch import HttpWatch
from tailrace.errors import DurableStreamUnavailableError, InvalidArgumentError, StoreUnusableError
from tailrace.forks import renew_in_child
from tailrace.options import StoreOptions, StoreURL
from tailrace.spi import (
    AppendOutcome,
    AppendRefused,
    Backend,
    Bounds,
    Capabilities,
    Entry,
    ReadOutcome,
    ReadRequest,
    Unborn,
)
from tailrace.wire import MalformedError

_DESCRIPTION_BYTES = 256 * 1024
_SEAL_BYTES = 1024
_OF_THE_SERVER = ("retention", "topic_retention", "tombstone_for", "forget_after", "create")


class HttpStore(Handle, HttpMaintenance):
    """One handle on a served store. Thread-safe; reopens after a fork. Also implements ``Maintenance``.

    Args:
        location: Which server.
        options: Only ``append_timeout`` is of use: everything else is the server's to decide.

    Raises:
        InvalidArgumentError: Another option is set.
        StoreUnusableError: No server of this release is there, or it does not let us in.
        DurableStreamUnavailableError: The server is away.
    """

    def __init__(self, location: Location, options: StoreOptions | None = None) -> None:
        super().__init__()
        options = options or StoreOptions()
        _refuse_options(options)
        self._patience = patience(options)
        self._calls = Calls(location)
        try:
            self._server = self._described()
        except BaseException:
            self._calls.close()
            raise
        renew_in_child(self)

    def __repr__(self) -> str:
        return f"HttpStore({self._calls.name}{', closed' if self._closed else ''})"

    @property
    @override
    def capabilities(self) -> Capabilities:
        store = self._server.store
        return dataclasses.replace(store, store=f"{store.store} over HTTP, server {self._server.release}")

    @override
    def append(self, entries: Sequence[Entry], timeout: float) -> Sequence[AppendOutcome]:
        if self._closed:
            return [AppendRefused(DurableStreamUnavailableError("the store is closed"))] * len(entries)
        server = self._server
        return writing.append(self._calls, entries, timeout, server.max_body, server.max_topics)

    @override
    def bounds(self, topic: str) -> Bounds | Unborn:
        self._check_open()
        return reading.bounds(self._calls, topic, self._patience)

    @override
    def read(self, requests: Sequence[ReadRequest]) -> Sequence[ReadOutcome]:
        self._check_open()
        return reading.read(self._calls, requests, self._patience, self._server.max_topics)

    @override
    def seal(self, topic: str, error: str | None) -> None:
        self._check_open()
        # Sealing again changes nothing, so a lost answer is asked for again.
        deadline = time.monotonic() + self._patience
        self._calls.again(wire.PATHS.seal, wire.seal_to(topic, error), whole(_SEAL_BYTES), deadline)

    @override
    def _open_watch(self) -> HttpWatch:
        return HttpWatch(self._calls, self._patience, self._server.max_topics)

    @override
    def _disconnect(self) -> None:
        self._calls.close()

    @override
    def _forget(self) -> None:
        self._calls.forget()

    def _described(self) -> wire.Description:
        deadline = time.monotonic() + self._patience
        answer = self._calls.again(wire.PATHS.describe, None, whole(_DESCRIPTION_BYTES), deadline)
        try:
            described = wire.description_from(answer)
        except MalformedError as exc:
            raise StoreUnusableError(
                f"{self._calls.name} describes itself in a way that makes no sense: {exc}"
            ) from exc
        if described.protocol != wire.PROTOCOL:
            raise StoreUnusableError(
                f"{self._calls.name} is of release {described.release} and speaks protocol {described.protocol}; this "
                f"client speaks {wire.PROTOCOL}: bring the older one up to date"
            )
        return described


def open_store(url: StoreURL, options: StoreOptions) -> Backend:
    """Open ``https://:KEY@host/prefix?ca=FILE``."""
    return HttpStore(locate(url), options)


def _refuse_options(options: StoreOptions) -> None:
    usual = StoreOptions()
    for name in _OF_THE_SERVER:
        if getattr(options, name) != getattr(usual, name):
            raise InvalidArgumentError(f"{name} is for the server to decide: set it where the store is opened")
