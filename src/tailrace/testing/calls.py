"""A call that can be cancelled while it runs, in the way in which callers of a facade are cancelled.

A thread is interrupted (what a soft time limit does), a task is cancelled, a greenlet is killed. All of them end with
``Cancelled`` here, so that one case is for all drivers.
"""

import ctypes
import sys
import threading
import time
import traceback
import weakref
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

PATIENCE = 20.0
"""Seconds before a call counts as one that hangs."""

_BEGINS_WITHIN = 0.5
"""Seconds that a thread may take from its start to its first instruction."""

_LOOKS = 1000
"""Turns for which a thread waits for an interrupt of its own, which comes with the next one."""

_never_begun: "weakref.WeakSet[threading.Thread]" = weakref.WeakSet()


class Cancelled(BaseException):
    """How a call ends that was cancelled. No ``Exception``: nobody may take it for a failure of the store."""


class _Settled(BaseException):
    """The interrupt that a thread sends itself."""


def interrupt(thread: int, kind: type[BaseException]) -> None:
    """Raise an exception in another thread, or in this one, between two of its instructions. Blocks for a moment."""
    # Until it begins, a thread bears the id of whoever has started it, and the interpreter finds it first: it would be
    # hit in its place, and never begin.
    deadline = time.monotonic() + _BEGINS_WITHIN
    while any(beginner not in _never_begun for beginner in list(threading._limbo)):  # type: ignore[attr-defined]
        if time.monotonic() > deadline:
            # Whoever was to start them was interrupted before that.
            _never_begun.update(threading._limbo)  # type: ignore[attr-defined]
            break
        time.sleep(0.0005)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(kind))


def settle_interrupts() -> None:
    """Make an interrupt that was sent to this thread, and has not come yet, never come. Any thread may call it.

    Not by taking it back: the interpreter then goes on looking for one, in every thread, for as long as the process
    lives, and Python 3.11 never gets past that look in a function that is traced or profiled. So it is replaced by
    another one, which is waited for: with that the look is over.
    """
    deadline = time.monotonic() + PATIENCE
    try:
        while time.monotonic() < deadline:
            # Again and again, as it may have hit a thread that this one was starting.
            interrupt(threading.get_ident(), _Settled)
            for _ in range(_LOOKS):
                time.sleep(0)
    except _Settled:
        return
    raise AssertionError(f"an interrupt did not come within {PATIENCE} s")


def whereabouts(thread: threading.Thread) -> str:
    """Return where a thread is, for messages about one that hangs."""
    frame = sys._current_frames().get(thread.ident or 0)
    return "nowhere" if frame is None else "at:\n" + "".join(traceback.format_stack(frame))


class Call(Protocol[T_co]):
    """A call under way."""

    def cancel(self) -> None:
        """Cancel it; at most once. It may end as usual all the same, if it was about to."""
        ...

    def result(self) -> T_co:
        """Wait for its end; return or raise what it did."""
        ...


class ThreadCall(Generic[T]):
    """Runs in a thread of its own, and is interrupted at whatever instruction that thread is.

    An interpreter delivers an interrupt between two instructions: a thread that waits has it when it wakes.
    """

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._lock = threading.Lock()
        self._began = threading.Event()
        self._over = self._struck = False
        self._values: list[T] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="tailrace-kit-call", daemon=True)
        self._thread.start()

    def cancel(self) -> None:
        self._began.wait(PATIENCE)
        with self._lock:
            if not self._over:
                self._struck = True
                self.strike(self._thread.ident or 0)

    def result(self) -> T:
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), f"still running after {PATIENCE} s, {whereabouts(self._thread)}"
        # It may have been hit after the call had returned: that is a result, and none that could be lost.
        if not self._values:
            assert self._error is not None
            raise self._error
        return self._values[0]

    def strike(self, thread: int) -> None:
        """Interrupt the thread, which has begun and is not over."""
        interrupt(thread, Cancelled)

    def _run(self) -> None:
        try:
            try:
                self._began.set()
                self._values.append(self._call())
            finally:
                self._end()
        except BaseException as error:  # noqa: BLE001 - handed to whoever asks for the result
            self._error = error

    def _end(self) -> None:
        with self._lock:
            self._over = True
        if self._struck:
            # One that was sent and has not come yet must not hit what the thread does next.
            settle_interrupts()
