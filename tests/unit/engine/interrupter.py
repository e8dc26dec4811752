"""Interrupts at every place where Python may deliver one, one place per run."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from tailrace.testing.calls import settle_interrupts


class SoftTimeLimit(BaseException):
    """What an interrupt looks like to the code it hits."""


class Interrupter:
    """Raises at the nth call, or return from a C function, in Tailrace's own code or what it calls in ``threading``.

    That is where the interpreter looks for one.
    """

    def __init__(self, at: int) -> None:
        self._left = at
        self.hit = False

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event in ("call", "c_return") and _ours(frame):
            self._left -= 1
            if self._left < 0:
                sys.setprofile(None)
                self.hit = True
                raise SoftTimeLimit

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Interrupt this thread in the block."""
        before = sys.getprofile()
        # What an interrupt raises in somebody's ``__del__`` is lost, and so would be the place.
        gc.disable()
        # Left over from whatever ran before in this process, one keeps Python 3.11 from entering a profiled function.
        settle_interrupts()
        sys.setprofile(self)
        try:
            yield
        finally:
            sys.setprofile(before)
            gc.enable()


def _ours(frame: FrameType) -> bool:
    return _tailrace(frame) or (frame.f_globals.get("__name__") == "threading" and _tailrace(frame.f_back))


def _tailrace(frame: FrameType | None) -> bool:
    return frame is not None and frame.f_globals.get("__name__", "").startswith("tailrace")
