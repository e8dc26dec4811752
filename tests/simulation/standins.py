"""What the engine finds under the names ``threading``, ``time``, ``random`` and ``weakref`` while it is simulated."""

import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tests.simulation.world import EPOCH, Task, World


class Lock:
    """A lock that hands over by barging, as real ones do: whoever comes first after a release has it."""

    __slots__ = ("_held", "_waiting", "_world")

    def __init__(self, world: World) -> None:
        self._world = world
        self._held = False
        self._waiting: list[Task] = []

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        world = self._world
        world.point()
        if not self._held:
            self._held = True
            return True
        if world.over:
            return True
        if not blocking:
            return False
        until = None if timeout < 0 else world.now + timeout
        while self._held:
            if until is not None and until <= world.now and timeout >= 0:
                return False
            task = world.current
            self._waiting.append(task)
            try:
                world.block(None if until is None else until - world.now)
            finally:
                if task in self._waiting:
                    self._waiting.remove(task)
        self._held = True
        return True

    def release(self) -> None:
        if not self._held:
            if self._world.over:
                return
            raise RuntimeError("release unlocked lock")
        self._held = False
        if self._waiting:
            self._world.wake(self._waiting.pop(0))

    def locked(self) -> bool:
        return self._held

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *exc_info: object) -> None:
        self.release()
        self._world.point()


class Thread:
    """A thread that is a greenlet of the world."""

    def __init__(
        self,
        world: World,
        target: Callable[..., object],
        args: Sequence[object] = (),
        name: str = "thread",
        daemon: bool = False,
    ) -> None:
        self._world = world
        self._body = lambda: target(*args)
        self.name = name
        self.task: Task | None = None

    def start(self) -> None:
        self.task = self._world.spawn(self.name, self._body)
        self._world.point()

    def join(self, timeout: float | None = None) -> None:
        assert self.task is not None
        self._world.join(self.task, timeout)

    def is_alive(self) -> bool:
        return self.task is not None and not self.task.done


class Threading:
    """Stands in for the module ``threading``."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._threads: list[Any] = []

    def Lock(self) -> Lock:  # noqa: N802
        return Lock(self._world)

    def Thread(self, **arguments: Any) -> Thread:  # noqa: N802
        thread = Thread(self._world, **arguments)
        self._threads.append(thread)
        return thread

    def current_thread(self) -> object:
        # Only compared with threads that the engine made: no thread of the plan is one of them.
        current = self._world.current
        return next((thread for thread in self._threads if thread.task is current), current)


class Time:
    """Stands in for the module ``time``."""

    def __init__(self, world: World) -> None:
        self._world = world

    def monotonic(self) -> float:
        return self._world.now

    def time(self) -> float:
        return self._world.now + EPOCH

    def sleep(self, seconds: float) -> None:
        self._world.sleep(seconds)


class Jitter:
    """Stands in for the module ``random``: goes through its range in fixed steps."""

    def __init__(self) -> None:
        self._step = 0

    def uniform(self, low: float, high: float) -> float:
        self._step = (self._step * 5 + 3) % 16
        return low + (high - low) * self._step / 15


class OrderedWeakSet:
    """A ``WeakSet`` whose order does not depend on where the memory allocator put its members."""

    def __init__(self) -> None:
        self._refs: dict[int, weakref.ref[Any]] = {}

    def add(self, item: Any) -> None:
        key = id(item)
        self._refs[key] = weakref.ref(item, lambda _: self._refs.pop(key, None))

    def discard(self, item: Any) -> None:
        self._refs.pop(id(item), None)

    def __iter__(self) -> Iterator[Any]:
        return iter([item for ref in self._refs.values() if (item := ref()) is not None])

    def __len__(self) -> int:
        return len(self._refs)


class Weakref:
    """Stands in for the module ``weakref``."""

    WeakSet = OrderedWeakSet
