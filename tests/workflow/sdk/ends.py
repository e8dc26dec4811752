"""Threads of a test, which end with it."""

import threading
from collections.abc import Callable

PATIENCE = 30.0


class Ends:
    """Runs something in a thread, and waits for its end."""

    def __init__(self) -> None:
        self._threads: list[threading.Thread] = []

    def __call__(self, target: Callable[[], object]) -> threading.Thread:
        thread = threading.Thread(target=target, daemon=True)
        self._threads.append(thread)
        thread.start()
        return thread

    def join(self) -> None:
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()
