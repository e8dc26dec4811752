"""Whether everything was given back: threads and file descriptors, before and after."""

import contextlib
import gc
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

_FOLDER = Path("/proc/self/fd")


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
