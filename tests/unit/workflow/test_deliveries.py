"""Notes of deliveries: they go on whatever became of who wrote the last one."""

import queue
import threading
from collections.abc import Mapping

import pytest

from tailrace.workflow.delivery import Deliveries
from tailrace.workflow.model import Mark


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_notes_go_on_after_their_thread_was_killed() -> None:
    killed: list[threading.Thread] = []
    killing = threading.Event()
    written: queue.Queue[Mapping[str, Mark]] = queue.Queue()

    def write(delivered: Mapping[str, Mark]) -> None:
        if not killed:
            killed.append(threading.current_thread())
            killing.set()
            raise SystemExit
        written.put(delivered)

    deliveries = Deliveries(write)
    deliveries.note("a", Mark(4, 1))
    assert killing.wait(10)
    killed[0].join()

    deliveries.note("b", Mark(2, 1))

    assert written.get(timeout=10) == {"a": Mark(4, 1), "b": Mark(2, 1)}
    deliveries.close()
