"""A child process uses the store that it inherited, and its parent goes on. No facade: what a fork does to the engine
is the same on every store.
"""

import os
import signal
import sys
import traceback
from collections.abc import Callable

import pytest

from tailrace import spi
from tailrace.testing.outcome import not_run
from tailrace.testing.stores import StoreUnderTest

_SECONDS = 20


# Python 3.12 and later warn of every fork with threads.
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
class TestFork:
    def test_a_child_uses_the_handle_that_it_inherited_and_so_does_its_parent(
        self, store: StoreUnderTest, name: str
    ) -> None:
        declared = store.tool.capabilities
        if declared.fork != "reopens":
            not_run(f"what a forked child may do is declared as {declared.fork}")
        _append(store.tool, name, b"before")
        # Open across the fork, as the engine's is.
        watch = store.tool.watch()
        watch.follow([name], [])

        def use() -> None:
            assert store.contents(name) == [b"before"]
            fresh = store.tool.watch()
            fresh.follow([name], [])
            _append(store.tool, name, b"child")
            fresh.close()
            assert store.contents(name) == [b"before", b"child"]
            store.tool.close()

        assert _status_of_a_child(use) == 0
        _append(store.tool, name, b"after")
        watch.wait(0.0)
        watch.close()
        childs = [b"child"] if declared.shared else []
        assert store.contents(name) == [b"before", *childs, b"after"]


def _append(backend: spi.Backend, topic: str, payload: bytes) -> None:
    (outcome,) = backend.append([spi.Entry(topic, [payload])], 10.0)
    assert isinstance(outcome, spi.Appended), outcome


def _status_of_a_child(work: Callable[[], None]) -> int:
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    status = 1
    try:
        # A child that hangs, on a lock that it inherited, must end all the same.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(_SECONDS)
        work()
        status = 0
    except BaseException:  # noqa: BLE001 - it must not get back into the run
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)
