"""An event loop for a native thread, also in a process that gevent has patched.

There the selectors of the standard library are gone or wait on greenlets, and so are the threads in which names would
be looked up. Both are replaced here, and nothing else is.
"""

import asyncio
import contextlib
import os
import select
import selectors
import weakref
from collections.abc import Callable, Collection, Coroutine
from typing import Any

from typing_extensions import override

from tailrace import native


class NativeLoop(asyncio.SelectorEventLoop):
    """Made in the thread that it lives in."""

    def __init__(self) -> None:
        super().__init__(_Selector() if native.patched() else None)
        self._connected: weakref.WeakSet[Any] = weakref.WeakSet()

    def live(self) -> None:
        """Run until ``end``. Keeps the calling thread."""
        try:
            asyncio.set_event_loop(self)
            self.run_forever()
            self.close()
        finally:
            native.leave_hub()

    def end(self, farewell: Callable[[], Coroutine[Any, Any, None]], tasks: Collection["asyncio.Task[None]"]) -> None:
        """Say goodbye, cancel what still runs, and stop. In the loop's own thread."""
        self.create_task(self._end(farewell, tasks))

    async def _end(self, farewell: Callable[[], Coroutine[Any, Any, None]], tasks: Collection[Any]) -> None:
        try:
            with contextlib.suppress(Exception):
                await farewell()
            left = [*tasks, *(asyncio.all_tasks(self) - {asyncio.current_task(self)})]
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)
        finally:
            self.stop()

    def disown(self) -> None:
        """In a child: close the copies of the connections' descriptors, and touch nothing else."""
        for transport in tuple(self._connected):
            sock = transport.get_extra_info("socket")
            descriptor = -1 if sock is None else sock.fileno()
            if descriptor >= 0:
                with contextlib.suppress(OSError):
                    os.close(descriptor)

    @override
    async def create_connection(self, *args: Any, **kwargs: Any) -> Any:
        made = await super().create_connection(*args, **kwargs)
        self._connected.add(made[0])
        return made

    @override
    async def getaddrinfo(self, host: Any, port: Any, **kwargs: Any) -> Any:
        if not native.patched():
            return await super().getaddrinfo(host, port, **kwargs)
        # In this thread: there are no others to be had, and only this loop waits for it.
        return native.getaddrinfo(host, port, **kwargs)


class _Selector(selectors.BaseSelector):
    """What the operating system offers, as it was before anybody patched it. Knows descriptors, not objects."""

    def __init__(self) -> None:
        self._poll = native.poll()
        self._keys: dict[int, selectors.SelectorKey] = {}

    @override
    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        key = self._keys[fileobj] = selectors.SelectorKey(fileobj, fileobj, events, data)
        self._poll.register(fileobj, _asked(events))
        return key

    @override
    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        key = self._keys.pop(fileobj)
        self._poll.unregister(fileobj)
        return key

    @override
    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        key = self._keys[fileobj] = self._keys[fileobj]._replace(events=events, data=data)
        self._poll.modify(fileobj, _asked(events))
        return key

    @override
    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        # Rounded up: what is due in half a millisecond must not be asked for again and again until then.
        wait = None if timeout is None else 0 if timeout <= 0 else int(timeout * 1000) + 1
        ready = []
        for descriptor, told in self._poll.poll(wait):
            key = self._keys.get(descriptor)
            if key is not None:
                ready.append((key, _meant(told) & key.events))
        return ready

    @override
    def get_map(self) -> Any:
        return self._keys

    @override
    def get_key(self, fileobj: Any) -> selectors.SelectorKey:
        return self._keys[fileobj]

    @override
    def close(self) -> None:
        self._keys.clear()


def _asked(events: int) -> int:
    wanted = select.POLLIN if events & selectors.EVENT_READ else 0
    return wanted | (select.POLLOUT if events & selectors.EVENT_WRITE else 0)


def _meant(told: int) -> int:
    # A trouble is found out by whoever reads or writes.
    trouble = told & ~(select.POLLIN | select.POLLOUT)
    meant = selectors.EVENT_READ if told & select.POLLIN or trouble else 0
    return meant | (selectors.EVENT_WRITE if told & select.POLLOUT or trouble else 0)
