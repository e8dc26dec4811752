"""The one place that waits for a server to get somewhere. Servers tell nobody when they do, so it asks again."""

import socket
import time
from collections.abc import Callable

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


def listens(address: tuple[str, int]) -> bool:
    """Return whether somebody accepts connections there."""
    with socket.create_connection(address, timeout=5):
        return True
