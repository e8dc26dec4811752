"""The open connections to one server: lent to one caller at a time, the last used first, and not too many.

Among greenlets a socket belongs to the hub of the thread that made it, and another thread can not wait on it. So
there is a stack for each hub; elsewhere there is one for all threads.

What is lent is a ``Slot``, which comes back by itself if its borrower drops it: an interrupt (KeyboardInterrupt, a soft
time limit) may come between any two lines, also between taking one and the ``try`` that would give it back.
"""

import contextlib
import threading
import time
import weakref
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from tailrace import native
from tailrace.errors import DurableStreamUnavailableError

MOST = 32
"""Open at once, for each hub; whoever needs another waits."""

KEPT = 8
"""Of these, kept open while nobody uses them."""

LOOK_AGAIN = 0.25
"""Seconds between two looks of who waits for one: of a slot that was dropped nobody is told."""


class Wire(Protocol):
    """What a connection has to be able to do to be lent. Nothing here raises."""

    def stale(self) -> bool:
        """Whether the server has hung up, or says something that nobody asked for."""
        ...

    def close(self) -> None:
        """Close it. Idempotent."""
        ...

    def hang_up(self) -> None:
        """End the conversation, from any thread: whoever waits here is told, and closes it."""
        ...

    def disown(self) -> None:
        """In a child: let go of the descriptor, without a word on the connection, which is the parent's."""
        ...


W = TypeVar("W", bound=Wire)


class Connections(Generic[W]):
    """Thread-safe.

    Args:
        dial: Opens one, within so many seconds.
        most: See ``MOST``.
        kept: See ``KEPT``.
    """

    def __init__(self, dial: Callable[[float], W], most: int = MOST, kept: int = KEPT) -> None:
        self._dial = dial
        self._most, self._kept = most, kept
        self._closed = self._retired = False
        self._start()

    def _start(self) -> None:
        self._used: set[W] = set()
        self._doomed: set[W] = set()
        self._stack = self._new()
        self._stacks: weakref.WeakKeyDictionary[object, Stack[W]] = weakref.WeakKeyDictionary()

    def take(self, deadline: float) -> "Slot[W]":
        """Lend a connection that the server has not closed; ``give_back`` should follow. Blocks.

        Raises:
            DurableStreamUnavailableError: There is none; nothing was sent.
        """
        self._check_open()
        slot = self._mine().pop(deadline)
        wire = slot.wire
        if wire is not None and wire.stale():
            slot.wire = None
            wire.close()
            wire = None
        if wire is None:
            try:
                # Also while it waits for a slot, the store may be closed.
                self._check_open()
                wire = slot.wire = self._dial(max(0.001, deadline - time.monotonic()))
            except BaseException as exc:
                self._mine().push(slot)
                # The exception keeps this frame alive, and whoever borrows the slot next must be the only one who has
                # it.
                del slot
                if isinstance(exc, DurableStreamUnavailableError):
                    self._check_open()
                raise
        self._used.add(wire)
        if self._closed:
            # Looked at once more: who closed in the meantime has not seen this one, and nobody would wake its borrower.
            self.give_back(slot, keep=False)
            del slot
            self._check_open()
        return slot

    def give_back(self, slot: "Slot[W]", *, keep: bool) -> None:
        """Take a connection back; ``keep`` it only if nothing is left to be read from it."""
        wire = slot.wire
        assert wire is not None
        self._used.discard(wire)
        if self._doomed and wire in self._doomed:
            self._doomed.discard(wire)
            keep = False
        if not keep or self._closed or self._retired:
            slot.wire = None
            wire.close()
        stack = self._mine()
        stack.push(slot)
        if self._closed:
            # Looked at once more: who closed in the meantime has not seen this one.
            for idle in stack.clear():
                idle.close()

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
        mine = self._mine()
        for stack in self._all():
            for idle in stack.clear():
                # Closed by the garbage collector if it is another hub's; it may take its time.
                if stack is mine:
                    idle.close()
                else:
                    idle.hang_up()

    def forget(self) -> None:
        """In a child: let go of what is the parent's, and start afresh."""
        idle = [wire for stack in self._all() for wire in stack.clear()]
        for wire in (*idle, *self._used):
            wire.disown()
        self._start()

    def _all(self) -> "tuple[Stack[W], ...]":
        return (self._stack, *self._stacks.values())

    def _mine(self) -> "Stack[W]":
        home = native.home()
        if home is None:
            return self._stack
        stack = self._stacks.get(home)
        return self._stacks.setdefault(home, self._new()) if stack is None else stack

    def _new(self) -> "Stack[W]":
        return Stack(self._used, self._most, self._kept)

    def _check_open(self) -> None:
        if self._closed:
            raise DurableStreamUnavailableError("the store is closed")


class Slot(Generic[W]):
    """The right to have one connection, and the connection if there is one. It belongs to one borrower at a time."""

    __slots__ = ("_stack", "_used", "wire")

    def __init__(self, stack: "weakref.ref[Stack[W]]", used: set[W]) -> None:
        self._stack: weakref.ref[Stack[W]] | None = stack
        self._used = used
        self.wire: W | None = None

    def cancel(self) -> W | None:
        """Give up the right; return the connection."""
        self._stack = None
        wire, self.wire = self.wire, None
        return wire

    def __del__(self) -> None:
        stack = None if self._stack is None else self._stack()
        if stack is None:
            return
        # Its borrower was interrupted. What may be left to be read on the connection is nobody's.
        wire = self.cancel()
        if wire is not None:
            self._used.discard(wire)
            wire.close()
        stack.replace()


class Stack(Generic[W]):
    """Slots for connections; those with an open one on top.

    Args:
        used: The connections that are lent.
        most: How many slots.
        kept: How many connections stay open while nobody uses them.
    """

    def __init__(self, used: set[W], most: int, kept: int) -> None:
        self._used = used
        self._most, self._kept = most, kept
        self._self = weakref.ref(self)
        self._slots = self._new()
        # Entered as a plain lock: an interrupt inside of the condition's own entering, which is Python code, would
        # leave it locked for ever.
        self._lock = threading.Lock()
        self._freed = threading.Condition(self._lock)
        self._waiting = 0

    def pop(self, deadline: float) -> Slot[W]:
        """Take a slot; block until one is free.

        Raises:
            DurableStreamUnavailableError: None became free in time.
        """
        try:
            return self._slots.pop()
        except IndexError:
            pass
        with self._lock:
            self._waiting += 1
            try:
                # Counted first, looked afterwards: whoever frees one either sees us, or we see it.
                while True:
                    with contextlib.suppress(IndexError):
                        return self._slots.pop()
                    left = deadline - time.monotonic()
                    if left <= 0:
                        raise DurableStreamUnavailableError(f"all {self._most} connections are in use, for too long")
                    self._freed.wait(min(left, LOOK_AGAIN))
            finally:
                self._waiting -= 1

    def push(self, slot: Slot[W]) -> None:
        """Give a slot back."""
        slots = self._slots
        if slot.wire is not None and len(slots) >= self._kept and slots[-self._kept].wire is not None:
            wire, slot.wire = slot.wire, None
            wire.close()
        if slot.wire is None:
            slots.insert(0, slot)
        else:
            slots.append(slot)
        if self._waiting:
            with self._lock:
                self._freed.notify()

    def replace(self) -> None:
        """Add a slot for one that was dropped. Takes no lock: it may run anywhere; who waits looks again soon."""
        self._slots.insert(0, Slot(self._self, self._used))

    def hang_up(self) -> None:
        """End all idle connections; whoever takes one next finds it stale, and closes it."""
        taken: list[Slot[W]] = []
        # Taken out first: one that is in use must not be hung up.
        with contextlib.suppress(IndexError):
            while True:
                taken.append(self._slots.pop())
        for slot in reversed(taken):
            if slot.wire is not None:
                slot.wire.hang_up()
            self.push(slot)

    def clear(self) -> list[W]:
        """Take all open connections out."""
        slots, self._slots = self._slots, self._new()
        return [wire for slot in slots if (wire := slot.cancel()) is not None]

    def _new(self) -> list[Slot[W]]:
        return [Slot(self._self, self._used) for _ in range(self._most)]
