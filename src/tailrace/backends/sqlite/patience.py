"""Waiting out another program that keeps the file locked: the only place of this store that sleeps.

Between our own processes the gate decides whose turn it is; SQLite's lock is only found taken when somebody else is
in the file, or is just making or recovering it.
"""

import sqlite3
import time
from collections.abc import Callable
from typing import TypeVar

from tailrace import native
from tailrace.backends.sqlite.errors import busy

T = TypeVar("T")

_PAUSE = 0.002


def patiently(work: Callable[[], T], deadline: float) -> T:
    """Run ``work`` until it does not find the file busy; return what it returns.

    Args:
        work: Changes nothing when it fails as busy.
        deadline: On the monotonic clock; at least one attempt is made.

    Raises:
        sqlite3.OperationalError: The file was busy until the deadline, or the call failed otherwise.
    """
    while True:
        try:
            return work()
        except sqlite3.OperationalError as exc:
            if not busy(exc) or time.monotonic() >= deadline:
                raise
        native.sleep(_PAUSE)
