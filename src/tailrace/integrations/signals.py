"""Hears of the signal that ends a server, before the server does. Only where an application asks for it.

Servers wait for open responses before they tell an application that it is to end. A stream is one that goes on.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def heard(then: Callable[[], object]) -> Iterator[None]:
    """While the block lasts, call ``then`` when a signal asks the process to end, and then whoever was to hear of it.

    A signal that nobody in Python handles is left alone: it ends the process at once, or is ignored. Only the main
    thread can handle signals; in any other this does nothing.

    Args:
        then: Called between any two instructions of the main thread: it may do no more than leave a note.
    """
    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: old for number in ENDING if callable(old := signal.getsignal(number))}
        for number, old in before.items():
            signal.signal(number, _first(then, old))
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def _first(then: Callable[[], object], old: Callable[[int, FrameType | None], object]) -> "_Handler":
    def handle(number: int, frame: FrameType | None) -> None:
        try:
            then()
        finally:
            old(number, frame)

    return handle


_Handler = Callable[[int, FrameType | None], None]
