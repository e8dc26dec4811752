"""The one place that waits for a server to get somewhere. Servers tell nobody when they do, so it asks again."""

import socket
import subprocess
import threading
import time
from collections.abc import Callable
from typing import AnyStr

from tailrace.testing.servers.errors import ServerFailedError

_STEP = 0.01


def until(condition: Callable[[], bool], what: str, *, timeout: float = 30.0, step: float = _STEP) -> None:
    """Block until ``condition`` is true.

    A server that refuses or drops a connection is not there yet: servers do so on their way from one state to another.

    Args:
        condition: Asked at once and then every ``step`` seconds. What it raises goes through, but for ``OSError``.
        what: What did not happen, for the message.
        timeout: Seconds.
        step: Seconds.

    Raises:
        ServerFailedError: It was not true in time.
    """
    deadline = time.monotonic() + timeout
    while True:
        obstacle: OSError | None = None
        try:
            if condition():
                return
        except OSError as refused:
            obstacle = refused
        if time.monotonic() > deadline:
            raise ServerFailedError(f"not within {timeout} s: {what}") from obstacle
        time.sleep(step)


def line_of(process: "subprocess.Popen[AnyStr]", *, timeout: float = 60.0) -> AnyStr:
    """Return the next line that a process prints; an empty one if it has ended. Blocks.

    Raises:
        ServerFailedError: It said nothing for ``timeout`` seconds, and was killed.
    """
    assert process.stdout is not None
    # Not by looking whether there is something in the pipe: what is to be read next may have been read with the last.
    silent = threading.Event()

    def give_up() -> None:
        silent.set()
        process.kill()

    overdue = threading.Timer(timeout, give_up)
    overdue.start()
    try:
        line = process.stdout.readline()
    finally:
        overdue.cancel()
        # Nobody who counts threads, or forks, is to meet it.
        overdue.join()
    if silent.is_set():
        raise ServerFailedError(f"the process said nothing for {timeout} s")
    return line


def listens(address: tuple[str, int]) -> bool:
    """Return whether somebody accepts connections there."""
    with socket.create_connection(address, timeout=5):
        return True
