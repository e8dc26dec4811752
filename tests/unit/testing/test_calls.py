"""A call that is cancelled leaves nothing behind in the interpreter: no look for an interrupt that never comes."""

import sys
from pathlib import Path
from subprocess import run

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
