"""What all requests share: the store, the tokens, and who is being streamed to."""

import asyncio
import functools
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TypeVar

from tailrace import aio
from tailrace.aio.waiting import closed
from tailrace.arguments import topic_name
from tailrace.cursors import CursorCodec
from tailrace.engine import Engine, Workers
from tailrace.errors import InvalidArgumentError
from tailrace.instrument import Hook
from tailrace.operations import Operations
from tailrace.options import EngineOptions
from tailrace.server.desk import Desk
from tailrace.server.problems import Problem
from tailrace.server.readiness import Readiness
from tailrace.server.settings import ServerSettings
from tailrace.spi import Backend
from tailrace.sse import Streams
from tailrace.tokens import KeyRing, Tickets, Tokens

T = TypeVar("T")

WORKERS = 8
"""Calls of the store that a server waits for at once beside appends and reads; the others queue."""


class Service:
    """A store that is served. Of one event loop, but for ``engine``.

    Args:
        backend: Closed with the service.
        ring: Seals and opens resume tokens.
        settings: Bounds and times.
        options: Of the engine.
        hooks: Called with what happens.

    Attributes:
        engine: What all topics stand on.
        live: Who is streamed to.
        statuses: How many answers of each status there were.
    """

    def __init__(
        self,
        backend: Backend,
        ring: KeyRing,
        settings: ServerSettings,
        *,
        options: EngineOptions | None = None,
        hooks: Iterable[Hook] = (),
    ) -> None:
        self.backend = backend
        self.settings = settings
        self._options = options or EngineOptions()
        self.engine = Engine(backend, self._options, hooks)
        self._ring = ring
        self.live = Streams(settings)
        self._workers = Workers(WORKERS)
        self._closed = False
        self.tickets = Tickets(ring, audience=settings.audience)
        self.readiness = Readiness()
        self.serves_runs = False
        self.statuses: Counter[int] = Counter()
        self.more_metrics: Callable[[], bytes] = bytes
        self.desk = Desk(backend)
        # Few tenants come often. They are cheap to make again, so there is no bound to tune.
        self.tokens = functools.lru_cache(maxsize=1024)(self._tokens_of)

    def _tokens_of(self, tenant: str) -> Tokens:
        settings = self.settings
        return Tokens(self._ring, audience=settings.audience, tenant=tenant, lifetime=settings.token_lifetime)

    def topic(self, name: str) -> aio.Topic:
        """Return a topic by name. Does no I/O and creates nothing.

        Raises:
            InvalidTopicNameError: No store could keep that name.
        """
        return aio.Topic(self.engine, topic_name(name))

    @property
    def max_payload(self) -> int:
        """Bytes in one payload."""
        return min(self._options.max_payload, self.backend.capabilities.max_payload)

    def codec(self, topic: str) -> CursorCodec:
        """Return what turns places of a topic into cursors."""
        return CursorCodec(topic)

    @property
    def operations(self) -> Operations:
        """List, trim, delete.

        Raises:
            Problem: ``unsupported``: the store has none of its own.
        """
        try:
            return Operations(self.backend, lambda: self._closed)
        except InvalidArgumentError as error:
            raise Problem("unsupported", str(error)) from None

    async def run(self, work: Callable[[], T]) -> T:
        """Run something that blocks on the store in a worker."""
        return await asyncio.wrap_future(self._workers.run(work))

    async def look(self) -> None:
        """Ask the store something. That a topic does not exist is an answer as good as any."""
        await self.run(functools.partial(self.backend.bounds, "tailrace:ready"))

    async def close(self) -> None:
        """Release the store. Idempotent, never raises."""
        self._closed = True
        self.live.drain()
        self.desk.close()
        self._workers.close()
        await closed(self.engine.close)
