"""Many readers of one event stream, as browsers are: they come back by themselves, with the id that they saw last.

A browser takes more memory than its share of a test; fifty of these are fifty connections that read, are cut and
return, and keep what they were given.
"""

import asyncio
from collections.abc import Callable

from tests.http.reader import LiveReader


class Crowd:
    """Readers of the same address. Made and used in one event loop."""

    def __init__(self, port: int, path: str, size: int) -> None:
        self.readers = [LiveReader(port, path) for _ in range(size)]
        self._tasks = [asyncio.ensure_future(reader.run()) for reader in self.readers]

    async def until(self, condition: Callable[[LiveReader], bool], timeout: float = 60.0) -> None:
        """Wait until it holds for everybody."""
        async with asyncio.timeout(timeout):
            for reader in self.readers:
                async with reader.changed:
                    await reader.changed.wait_for(lambda reader=reader: condition(reader))

    async def until_finished(self, timeout: float = 60.0) -> None:
        """Wait until everybody has been told to stay away."""
        async with asyncio.timeout(timeout):
            for reader in self.readers:
                await reader.finished.wait()

    async def leave(self) -> None:
        """End all of them."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
