"""Closing what this process has open of its stores around a fork. Nothing is registered before a store is opened."""

import os
import threading
import weakref
from typing import Protocol

from tailrace import native


class Forked(Protocol):
    """Something that no child may inherit."""

    def before_fork(self) -> None:
        """Close it. May wait, for a bounded time."""
        ...

    def after_fork_in_parent(self) -> None:
        """Go on."""
        ...

    def disown(self) -> None:
        """In the child: let go of what could not be closed, without touching it."""
        ...


_open: "weakref.WeakSet[Forked]" = weakref.WeakSet()
_closed: dict[int, tuple[Forked, ...]] = {}
_hooked = False
# One entry, made at first use: no session is born while a fork is under way, which would not know of it. The child of a
# fork that came while it opened its first connection would inherit SQLite's own locks, held by nobody, for ever.
_births: "dict[str, threading.Lock]" = {}


def close_around_forks(session: Forked) -> None:
    """Have a session closed before every fork, for as long as it lives."""
    global _hooked
    with _birth():
        _open.add(session)
        if not _hooked:
            _hooked = True
            os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)


def _birth() -> threading.Lock:
    return _births.setdefault("lock", native.lock())


def _before() -> None:
    _birth().acquire()
    sessions = _closed[threading.get_ident()] = tuple(_open)
    for session in sessions:
        session.before_fork()


def _in_parent() -> None:
    for session in _closed.pop(threading.get_ident(), ()):
        session.after_fork_in_parent()
    _birth().release()


def _in_child() -> None:
    for session in tuple(_open):
        session.disown()
    # None of them is the child's: it makes its own when it first uses a store.
    _open.clear()
    _closed.clear()
    _births.clear()
