"""The processes that a process has started, where a server is several of them. Linux; elsewhere none are found."""

import contextlib
import os
import signal
from collections.abc import Sequence
from pathlib import Path


def children(pid: int) -> list[int]:
    """Return the processes whose parent it is right now."""
    return [int(entry.name) for entry in Path("/proc").glob("[0-9]*") if _status(entry)[1] == str(pid)]


def runs(pid: int) -> bool:
    """Whether it has not ended; one whose end nobody has asked for yet has."""
    return _status(Path("/proc", str(pid)))[0] not in ("Z", "X", "")


def signal_all(pids: Sequence[int], number: signal.Signals) -> None:
    """Send a signal to each that is still there."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _status(entry: Path) -> tuple[str, str]:
    """Return its state and its parent."""
    try:
        text = (entry / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "", ""
    # The name, in parentheses, may hold anything.
    state, parent = text.rpartition(")")[2].split()[:2]
    return state, parent
