"""A folder that a tree of test processes shares, for what takes long to make and is only copied afterwards."""

import atexit
import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

_VARIABLE = "TAILRACE_TEST_SERVERS"


def shared(name: str, make: Callable[[Path], None]) -> Path:
    """Return a folder of this name, which ``make`` fills if no process of the tree has done so.

    Blocks while another one does. Everything is removed when the process ends that was the first to ask.
    """
    home = _home()
    made = home / name
    with (home / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.is_dir():
            half = home / f"{name}.half"
            # Somebody may have been interrupted over it.
            shutil.rmtree(half, ignore_errors=True)
            make(half)
            half.rename(made)
    return made


def _home() -> Path:
    known = os.environ.get(_VARIABLE)
    if known and Path(known).is_dir():
        return Path(known)
    home = Path(tempfile.mkdtemp(prefix="tailrace-servers-"))
    # A server may be another user: it may pass, and not look.
    home.chmod(0o711)
    os.environ[_VARIABLE] = str(home)
    atexit.register(_remove, home, os.getpid())
    return home


def _remove(home: Path, owner: int) -> None:
    # A forked child has inherited the wish to remove it.
    if os.getpid() == owner:
        with contextlib.suppress(KeyError):
            del os.environ[_VARIABLE]
        shutil.rmtree(home, ignore_errors=True)
