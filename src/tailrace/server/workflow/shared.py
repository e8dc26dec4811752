"""What all requests below ``/api`` share: the operations, and how many of them may wait."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from tailrace.aio.waiting import closed
from tailrace.server.problems import Problem
from tailrace.server.service import Service
from tailrace.server.workflow.room import Room
from tailrace.server.workflow.settings import MAX_REQUEST_BYTES
from tailrace.sweeping import Sweeping
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.model import SweepResult
from tailrace.workflow.payloads import PayloadUnavailableError

T = TypeVar("T")

TRANSFERS = 8
"""Payloads that are moved at once: a storage that hangs leaves the other workers to streams."""

ROOM_BYTES = 64 * 2**20
"""Bytes of payloads in memory at once; at least four of the largest."""

MOST_WAITING = 1024
"""Operations that wait for the store at once; more are told to come back."""


class Shared:
    """Of one event loop.

    Args:
        core: What the rest of the server shares too: settings, tokens, who is being streamed to.
        service: The operations; closed with this.
    """

    def __init__(self, core: Service, service: EmbeddedService) -> None:
        self.core = core
        self.service = service
        self.namespaces = service.settings.namespaces
        self.max_request = min(MAX_REQUEST_BYTES, core.settings.max_body)
        self.max_payload = service.payloads.settings.max_payload_bytes
        self.room = Room(max(ROOM_BYTES, 4 * self.max_payload))
        self._transfers = asyncio.Semaphore(TRANSFERS)
        self._waiting = 0
        self._sweeping: Sweeping[SweepResult] | None = None

    def begin(self) -> None:
        """Begin passes of retention, in a thread. Idempotent; to be called by the process that serves."""
        if self._sweeping is None:
            self._sweeping = self.service.sweep_every(self.core.settings.sweep_every)

    async def run(self, work: Callable[[], T]) -> T:
        """Run an operation in a worker. It bounds its own time: nobody else knows whether it has stored something.

        Raises:
            Problem: ``overloaded``: too many wait already.
        """
        with self.waiting():
            return await self.service.run(work)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Wait for the store inside, as one of so many.

        Raises:
            Problem: ``overloaded``: too many wait already.
        """
        if self._waiting >= MOST_WAITING:
            raise Problem("overloaded", "too many operations wait for the store")
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1

    async def transfer(self, work: Callable[[], T]) -> T:
        """Run something that moves a payload to or from its storage, in a worker.

        Raises:
            PayloadUnavailableError: It is not its turn for long: the storage hangs.
            Problem: As ``run``.
        """
        patience = self.service.payloads.settings.request_timeout
        try:
            async with asyncio.timeout(patience):
                await self._transfers.acquire()
        except TimeoutError:
            raise PayloadUnavailableError(f"the storage was busy for {patience:g} seconds") from None
        try:
            return await self.run(work)
        finally:
            self._transfers.release()

    async def close(self) -> None:
        """Release the operations. Idempotent, never raises."""
        await closed(self._close)

    def _close(self) -> None:
        if self._sweeping is not None:
            self._sweeping.close()
        self.service.close()
