"""What the bulk routes share: workers for reads, and the bell."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from tailrace.engine import Workers
from tailrace.server.bell import Bell
from tailrace.server.problems import Problem
from tailrace.spi import Backend

T = TypeVar("T")

WORKERS = 16
"""Reads of clients that wait for the store at once; the others queue."""

QUEUED = 1024
"""Reads that wait for a worker; more are told to come back."""

MOST_TOPICS = 1000
"""Entries, requests or topics in one request. A client that follows more opens more streams."""

PATIENCE = 30.0
"""Seconds that a read may take, its turn included. The store's own timeouts are shorter."""


class Desk:
    """Of one event loop, but for what the bell does."""

    def __init__(self, backend: Backend) -> None:
        self._workers = Workers(WORKERS)
        self._waiting = 0
        self.bell = Bell(backend)

    async def run(self, work: Callable[[], T]) -> T:
        """Run something that reads from the store in a worker.

        Raises:
            Problem: ``overloaded``: too many wait already; ``unavailable``: the store does not answer.
        """
        if self._waiting >= WORKERS + QUEUED:
            raise Problem("overloaded", "too many reads wait for the store")
        self._waiting += 1
        try:
            async with asyncio.timeout(PATIENCE):
                return await asyncio.wrap_future(self._workers.run(work))
        except TimeoutError:
            raise Problem("unavailable", f"the store did not answer within {PATIENCE:g} s") from None
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """End what streams hints, to be resumed elsewhere. Does not wait; idempotent."""
        self.bell.close()
        self._workers.close()
