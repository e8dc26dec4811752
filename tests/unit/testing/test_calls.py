"""A call that is cancelled leaves nothing behind in the interpreter: no look for an interrupt that never comes."""

import _thread
import sys
import threading
from pathlib import Path
from subprocess import run

from tailrace.testing.calls import settle_interrupts

PROFILED = """
import sys, threading
from tailrace.testing.calls import ThreadCall
{before}
def function(): return 1
sys.setprofile(lambda *_: None)
function()
"""


def _ends(before: str) -> bool:
    done = run([sys.executable, "-c", PROFILED.format(before=before)], capture_output=True, cwd=Path.cwd(), timeout=20)
    return done.returncode == 0


def test_a_profiled_function_is_entered_after_a_call_that_was_cancelled() -> None:
    assert _ends("on = threading.Event()\ncall = ThreadCall(on.wait)\ncall.cancel()\non.set()\ncall._thread.join()")


def test_a_profiled_function_is_entered_after_a_call_that_was_not() -> None:
    assert _ends("ThreadCall(int).result()")


def test_a_thread_that_was_started_and_has_not_begun_is_not_hit_in_the_place_of_whoever_started_it() -> None:
    begun = threading.Barrier(2, timeout=20)

    class SlowToBegin(threading.Thread):
        """Whose starter does not wait for it, as after an interrupt."""

        def start(self) -> None:
            threading._limbo[self] = self  # type: ignore[attr-defined]
            _thread.start_new_thread(self._bootstrap, ())  # type: ignore[attr-defined]

    for _ in range(200):
        beginner = SlowToBegin(target=begun.wait, daemon=True)
        beginner.start()
        settle_interrupts()
        begun.wait()
