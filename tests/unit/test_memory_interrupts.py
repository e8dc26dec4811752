"""An interrupt inside the memory store, wherever it falls, leaves a batch stored whole or not at all."""

import sys
from types import FrameType
from typing import Any

import pytest

from tailrace import StreamClient
from tailrace.backends.memory import MemoryStore
from tailrace.options import StoreOptions
from tailrace.records import DurableStreamRecord
from tailrace.retention import Retention
from tailrace.testing.calls import settle_interrupts


class Interrupt(BaseException):
    """A KeyboardInterrupt that no test runner takes for its own."""


class Interrupter:
    """Raises at the nth call, or return from a C function, in the log's code: the interpreter looks there."""

    def __init__(self, at: int) -> None:
        self._left = at
        self.hit = False

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event in ("call", "c_return") and frame.f_globals.get("__name__") == "tailrace.backends.memory.log":
            self._left -= 1
            if self._left < 0:
                sys.setprofile(None)
                self.hit = True
                raise Interrupt


def interrupted_append(client: StreamClient, at: int) -> bool:
    interrupter, before = Interrupter(at), sys.getprofile()
    # Left over from whatever ran before in this process, one keeps Python 3.11 from entering a profiled function.
    settle_interrupts()
    sys.setprofile(interrupter)
    try:
        client.topic("t").append_many([b"a", b"b", b"c"])
    except Interrupt:
        pass
    finally:
        sys.setprofile(before)
    return interrupter.hit


def everything(client: StreamClient) -> list[DurableStreamRecord]:
    found = []
    with client.topic("t").subscribe_from_beginning() as subscription:
        while isinstance(record := subscription.receive(0), DurableStreamRecord):
            found.append(record)
    return found


@pytest.mark.parametrize("max_records", [None, 4])
def test_an_interrupt_at_any_place_leaves_a_log_that_reads_and_resumes_exactly(max_records: int | None) -> None:
    at, hit = 0, True
    while hit:
        with StreamClient(MemoryStore(StoreOptions(retention=Retention(max_records=max_records)))) as client:
            topic = client.topic("t")
            topic.append_many([b"0", b"1", b"2"])
            hit = interrupted_append(client, at)
            topic.append(b"z")
            whole = b"012abcz" if everything(client)[-2].payload == b"c" else b"012z"

            found = everything(client)
            assert b"".join(record.payload for record in found) == whole[-(max_records or 7) :], at
            for place, record in enumerate(found[:-1]):
                with topic.subscribe_from_cursor(record.cursor) as subscription:
                    assert subscription.receive(0) == found[place + 1]
        at += 1
    assert at > 10
