"""What must happen in a child process after ``fork``: inherited locks, threads and sockets are not the child's.

Nothing is registered at import; the one hook of the process is set when the first object asks for it.
"""

import os
import weakref
from typing import Protocol


class Forkable(Protocol):
    """Something that a child process can not use as it was inherited."""

    def after_fork(self) -> None:
        """Start afresh in the child. Called before any other code runs there; must not block."""
        ...


_forkables: "weakref.WeakSet[Forkable]" = weakref.WeakSet()
_hooked = False


def renew_in_child(obj: Forkable) -> None:
    """Call ``obj.after_fork()`` in every child process, for as long as ``obj`` lives."""
    global _hooked
    _forkables.add(obj)
    if not _hooked:
        _hooked = True
        os.register_at_fork(after_in_child=_renew_all)


def _renew_all() -> None:
    for obj in list(_forkables):
        obj.after_fork()
