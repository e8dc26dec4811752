"""The two locks in the gate file, and how the file is made.

An ``flock`` alone wakes all who wait and lets the first to run have it, which is mostly the last holder. So there is a
second lock in the file, the right to be next: who waits for the gate holds it meanwhile, and leaves a wish. Who let go
of the gate and reads of the wish asks for that right first, and so can not slip in again before the other.
"""

import contextlib
import fcntl
import os
import time
from pathlib import Path

from tailrace.backends.sqlite import bell
from tailrace.backends.sqlite.location import Location

NEXT_SECONDS = 0.25
"""How long the right to be next is waited for. A turn is a commit or a few; one who takes longer is not in a turn."""

_LOOK_EVERY = 0.001


def open_file(location: Location) -> int:
    """Open the side file, making it if need be."""
    fd = os.open(location.gate, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    # Whoever may write the database must be able to lock it, also when root came first.
    with contextlib.suppress(FileNotFoundError):
        database, mine = Path(location.path).stat(), os.fstat(fd)
        if mine.st_uid == os.geteuid() and mine.st_mode & 0o777 != database.st_mode & 0o777:
            os.fchmod(fd, database.st_mode & 0o777)
        if os.geteuid() == 0 and (mine.st_uid, mine.st_gid) != (database.st_uid, database.st_gid):
            os.fchown(fd, database.st_uid, database.st_gid)
    return fd


def try_lock(fd: int, polite: bool) -> bool:
    """Take the lock if it is free; with ``polite``, and nobody has the right to be next. Does not wait."""
    try:
        if polite:
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1)
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    finally:
        if polite:
            fcntl.lockf(fd, fcntl.LOCK_UN, 1)
    return True


def lock(fd: int) -> None:
    """Wait for the lock, however long it takes."""
    try:
        if _be_next(fd):
            bell.wish(fd)
        fcntl.flock(fd, fcntl.LOCK_EX)
    finally:
        fcntl.lockf(fd, fcntl.LOCK_UN, 1)


def _be_next(fd: int) -> bool:
    # Not for ever: whoever has this right may have been stopped while it waited, and the gate be free. Without the
    # right no wish is left either, or we would be polite to that one again after our own turn.
    deadline = time.monotonic() + NEXT_SECONDS
    while True:
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1)
            return True
        except (BlockingIOError, PermissionError):
            if time.monotonic() >= deadline:
                return False
        time.sleep(_LOOK_EVERY)


def unlock(fd: int) -> None:
    """Let go of the lock; does nothing if it is not held through this descriptor."""
    fcntl.flock(fd, fcntl.LOCK_UN)
