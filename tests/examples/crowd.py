"""Many readers of one event stream, as browsers are: they come back by themselves, with the id that they saw last.

Fifty browsers do not fit on a test machine; fifty of these are fifty connections that read, are cut and return, and
keep what they were given. They run in an event loop of their own, in a thread, for tests that are not coroutines.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from tests.http.reader import LiveReader


class Crowd:
    """Readers of the same address.

    Attributes:
        readers: What each has seen.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, readers: list[LiveReader]) -> None:
        self._loop = loop
        self.readers = readers

    def until(self, condition: Callable[[LiveReader], bool], timeout: float = 60.0) -> None:
        """Wait until it holds for everybody."""
        self._run(self._until(condition), timeout)

    def until_finished(self, timeout: float = 60.0) -> None:
        """Wait until everybody was told to stay away."""
        self._run(self._until_finished(), timeout)

    async def _until(self, condition: Callable[[LiveReader], bool]) -> None:
        for reader in self.readers:
            async with reader.changed:
                await reader.changed.wait_for(lambda reader=reader: condition(reader))

    async def _until_finished(self) -> None:
        for reader in self.readers:
            await reader.finished.wait()

    def _run(self, waiting: Coroutine[Any, Any, None], timeout: float) -> None:
        asyncio.run_coroutine_threadsafe(asyncio.wait_for(waiting, timeout), self._loop).result(timeout + 10)


@contextmanager
def crowd_of(size: int, port: int, path: str) -> Iterator[Crowd]:
    """Let so many read an address until the block ends."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="crowd")
    thread.start()
    readers = [LiveReader(port, path) for _ in range(size)]
    reading = [asyncio.run_coroutine_threadsafe(reader.run(), loop) for reader in readers]
    try:
        yield Crowd(loop, readers)
    finally:
        for each in reading:
            each.cancel()
        asyncio.run_coroutine_threadsafe(_all_ended(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _all_ended() -> None:
    await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()}, return_exceptions=True)
