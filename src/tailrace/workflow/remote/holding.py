"""Ending a conversation that waits, from another thread, and nothing else by mistake."""

import threading
from collections.abc import Callable

from tailrace.backends.http.line import Line


class Holding:
    """A conversation that another thread may end, for as long as it is ours.

    Whoever cancels may come to it late: when the line is closed, and its descriptor another file's; or lent to the
    next caller. After ``let_go`` nothing is hung up any more.
    """

    def __init__(self, line: Line) -> None:
        self._lock = threading.Lock()
        self._hang_up: Callable[[], None] | None = line.hang_up

    def hang_up(self) -> None:
        """End the conversation, if it is still ours. From any thread."""
        with self._lock:
            if self._hang_up is not None:
                self._hang_up()

    def let_go(self) -> None:
        """Leave the line to others."""
        with self._lock:
            self._hang_up = None
