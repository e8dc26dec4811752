"""Whether everything was given back: threads, file descriptors, registered readers, objects and memory."""

import contextlib
import gc
import os
import threading
import time
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tailrace.testing.drivers import Client

_FOLDER = Path("/proc/self/fd")
_MEMORY = Path("/proc/self/statm")

_OURS = "tailrace."
# A store may keep what is appended to it, and the kit has its own things.
_NOT_COUNTED = ("tailrace.backends.", "tailrace.spi.", "tailrace.testing.")
# What waiting is made of.
_WAITING = {"_asyncio", "asyncio.futures", "asyncio.tasks", "concurrent.futures._base", "greenlet"}


@contextlib.contextmanager
def no_leaks(settle: float = 5.0, pooled_files: int = 0) -> Iterator[None]:
    """Fail if the block leaves more threads or open files than it found.

    Args:
        settle: Seconds that what is ending may still take.
        pooled_files: Files that a store may open on demand and keep; for blocks that do a thing so often that a
            leak of it would be more.

    Raises:
        AssertionError: Names the threads and the files that stayed.
    """
    threads, files = set(threading.enumerate()), _open_files()
    yield
    gc.collect()
    deadline = time.monotonic() + settle
    while True:
        left = [thread.name for thread in threading.enumerate() if thread not in threads and not _pooled(thread)]
        # Counted, not compared one by one: whoever was there before may have reopened its files.
        opened = _open_files()
        grown = [target for number, target in opened.items() if files.get(number) != target]
        if not left and len(opened) <= len(files) + pooled_files:
            return
        if time.monotonic() > deadline:
            raise AssertionError(f"left behind: threads {left}, files {grown}")
        time.sleep(0.01)


@contextlib.contextmanager
def nothing_registered(client: Client, *, settle: float = 5.0, slack: int = 8) -> Iterator[None]:
    """Fail if the block leaves readers registered in a client, or objects that readers, calls and waits are made of.

    Args:
        client: The client that the block uses.
        settle: Seconds that what is ending may still take.
        slack: Objects of one type that may stay, for pools: far fewer than the block's repetitions.

    Raises:
        AssertionError: Names the gauges and the types.
    """
    gauges, objects = _gauges(client), _objects()
    yield
    deadline = time.monotonic() + settle
    while True:
        left, grown = _gauges(client), {name: more for name, more in (_objects() - objects).items() if more > slack}
        if left == gauges and not grown:
            return
        if time.monotonic() > deadline:
            raise AssertionError(f"left behind: {left} instead of {gauges}, and more of {grown}")
        time.sleep(0.01)


@contextlib.contextmanager
def steady_memory(most: int) -> Iterator[None]:
    """Fail if the process holds over ``most`` bytes more after the block: of Python's, or, roughly, of the system's.

    Several times slower than without. Warm up what is cached before.

    Raises:
        AssertionError: Says how many, and where most of them were allocated.
    """
    tracemalloc.start()
    try:
        gc.collect()
        # The snapshot's own memory is traced, too.
        snapshot = tracemalloc.take_snapshot()
        before, resident = tracemalloc.get_traced_memory()[0], _resident()
        yield
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
        where = [str(line) for line in tracemalloc.take_snapshot().compare_to(snapshot, "lineno")[:5]]
        assert grown <= most, f"{grown} bytes more: {where}"
        # Allocators keep what they have freed, in pieces.
        resident = _resident() - resident
        assert resident <= 4 * most, f"{resident} resident bytes more: {where}"
    finally:
        tracemalloc.stop()


def _gauges(client: Client) -> dict[str, int]:
    stats = client.stats()
    return {name: stats[name] for name in ("subscriptions", "live_subscriptions", "live_topics")}


def _objects() -> Counter[str]:
    gc.collect()
    kinds = Counter(type(each) for each in gc.get_objects())
    return Counter({f"{kind.__module__}.{kind.__qualname__}": count for kind, count in kinds.items() if _counted(kind)})


def _counted(kind: type) -> bool:
    module = str(kind.__module__)
    return module in _WAITING or (module.startswith(_OURS) and not module.startswith(_NOT_COUNTED))


def _resident() -> int:
    if not _MEMORY.exists():
        return 0
    return int(_MEMORY.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _pooled(thread: threading.Thread) -> bool:
    # An engine's workers are a bounded pool that grows with use and ends with its client.
    return thread.name.startswith("tailrace-worker")


def _open_files() -> dict[str, str]:
    targets: dict[str, str] = {}
    if _FOLDER.is_dir():
        for number in os.listdir(_FOLDER):  # noqa: PTH208 - a Path would open one more while it lists
            with contextlib.suppress(OSError):
                targets[number] = str((_FOLDER / number).readlink())
    return targets
