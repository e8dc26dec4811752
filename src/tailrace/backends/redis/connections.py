"""The open connections to one server: lent to one caller at a time, the last used first, and not too many.

Among greenlets a socket belongs to the hub of the thread that made it, and another thread can not wait on it. So
there is a stack for each hub; elsewhere there is one for all threads.
"""

import contextlib
import threading
import time
import weakref
from collections.abc import Callable

from tailrace import native
from tailrace.backends.redis.wire import Wire
from tailrace.errors import DurableStreamUnavailableError

MOST = 32
"""Open at once, for each hub; whoever needs another waits."""

KEPT = 8
"""Of these, kept open while nobody uses them."""


class Connections:
    """Thread-safe.

    Args:
        dial: Opens one, within so many seconds.
    """

    def __init__(self, dial: Callable[[float], Wire]) -> None:
        self._dial = dial
        self._closed = self._retired = False
        self._start()

    def _start(self) -> None:
        self._stack = Stack()
        self._stacks: weakref.WeakKeyDictionary[object, Stack] = weakref.WeakKeyDictionary()
        self._used: set[Wire] = set()
        self._doomed: set[Wire] = set()

    def take(self, deadline: float) -> Wire:
        """Lend a connection that the server has not closed; ``give_back`` must follow. Blocks.

        Raises:
            DurableStreamUnavailableError: There is none; nothing was sent.
        """
        self._check_open()
        slot = self._mine().pop(deadline)
        if slot is not None:
            if not slot.stale():
                self._used.add(slot)
                return slot
            slot.close()
        try:
            # Also while it waits for a slot, the store may be closed.
            self._check_open()
            wire = self._dial(max(0.001, deadline - time.monotonic()))
        except BaseException as exc:
            self._mine().push(None)
            if isinstance(exc, DurableStreamUnavailableError):
                self._check_open()
            raise
        self._used.add(wire)
        return wire

    def give_back(self, wire: Wire, *, keep: bool) -> None:
        """Take a connection back; ``keep`` it only if nothing is left to be read from it."""
        self._used.discard(wire)
        if self._doomed and wire in self._doomed:
            self._doomed.discard(wire)
            keep = False
        if keep and not (self._closed or self._retired):
            self._mine().push(wire)
        else:
            wire.close()
            self._mine().push(None)

    def renew(self) -> None:
        """Begin no conversation on a present connection any more; those that run are still ended. From any thread."""
        self._doomed = set(self._used)
        for stack in self._all():
            stack.hang_up()

    def retire(self) -> None:
        """Keep none from now on. From any thread."""
        self._retired = True
        self.renew()

    def close(self) -> None:
        """Close what is idle, and wake whoever waits for an answer. Never raises; from any thread."""
        self._closed = True
        for wire in tuple(self._used):
            # Only that: it is closed by whoever has it.
            wire.hang_up()
        for stack in self._all():
            for idle in stack.clear():
                idle.hang_up()

    def forget(self) -> None:
        """In a child: let go of what is the parent's, and start afresh."""
        idle = [wire for stack in self._all() for wire in stack.clear()]
        for wire in (*idle, *self._used):
            wire.disown()
        self._start()

    def _all(self) -> "tuple[Stack, ...]":
        return (self._stack, *self._stacks.values())

    def _mine(self) -> "Stack":
        home = native.home()
        if home is None:
            return self._stack
        stack = self._stacks.get(home)
        return self._stacks.setdefault(home, Stack()) if stack is None else stack

    def _check_open(self) -> None:
        if self._closed:
            raise DurableStreamUnavailableError("the store is closed")


class Stack:
    """Slots for connections; those with an open one on top. ``None`` is one that may be opened."""

    def __init__(self) -> None:
        self._slots: list[Wire | None] = [None] * MOST
        self._freed = threading.Condition(threading.Lock())
        self._waiting = 0

    def pop(self, deadline: float) -> Wire | None:
        """Take a slot; block until one is free.

        Raises:
            DurableStreamUnavailableError: None became free in time.
        """
        try:
            return self._slots.pop()
        except IndexError:
            pass
        with self._freed:
            self._waiting += 1
            try:
                # Counted first, looked afterwards: whoever frees one either sees us, or we see it.
                while True:
                    with contextlib.suppress(IndexError):
                        return self._slots.pop()
                    left = deadline - time.monotonic()
                    if left <= 0:
                        raise DurableStreamUnavailableError(f"all {MOST} connections are in use, for too long")
                    self._freed.wait(left)
            finally:
                self._waiting -= 1

    def push(self, wire: Wire | None) -> None:
        """Give a slot back."""
        slots = self._slots
        if wire is not None and len(slots) >= KEPT and slots[-KEPT] is not None:
            wire.close()
            wire = None
        if wire is None:
            slots.insert(0, None)
        else:
            slots.append(wire)
        if self._waiting:
            with self._freed:
                self._freed.notify()

    def hang_up(self) -> None:
        """End all idle connections; whoever takes one next finds it stale, and closes it."""
        taken: list[Wire | None] = []
        # Taken out first: one that is in use must not be hung up.
        with contextlib.suppress(IndexError):
            while True:
                taken.append(self._slots.pop())
        for wire in reversed(taken):
            if wire is not None:
                wire.hang_up()
            self.push(wire)

    def clear(self) -> list[Wire]:
        """Take all open connections out."""
        slots, self._slots = self._slots, [None] * MOST
        return [wire for wire in slots if wire is not None]
