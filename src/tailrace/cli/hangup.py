"""Noticing that the reader of our output went away while there is nothing to write.

A write would tell, but in ``tail quiet | head -1`` there is none to come.
"""

import contextlib
import select
import threading
from collections.abc import Callable
from typing import TextIO


def when_reader_goes(stream: TextIO, act: Callable[[], object]) -> None:
    """Call ``act`` from another thread once nobody can read ``stream`` any more.

    Costs one sleeping thread, which ends with the process. Does nothing where the platform can not tell.
    """
    with contextlib.suppress(OSError, ValueError, AttributeError):
        poll = select.poll()
        poll.register(stream.fileno(), 0)
        threading.Thread(target=_wait, args=(poll, act), name="tailrace-hangup", daemon=True).start()


def _wait(poll: "select.poll", act: Callable[[], object]) -> None:
    # Errors and hang-ups are reported although no event was asked for; nothing else ends this wait.
    poll.poll()
    act()
