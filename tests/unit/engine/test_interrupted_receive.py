"""An interrupt inside ``receive``, at every place where Python may deliver one: nothing is missed, nothing repeated."""

import sys
from types import FrameType
from typing import Any

from tailrace import CLOSED, EngineOptions, StreamClient
from tailrace.backends.memory import MemoryStore
from tailrace.records import DurableStreamRecord
from tailrace.subscription import Subscription

WRITTEN = [b"%d" % number for number in range(12)]


class SoftTimeLimit(BaseException):
    """What an interrupt looks like to the code it hits."""


class Interrupter:
    """Raises at the nth call, or return from a C function, in Tailrace's own code: the interpreter looks there."""

    def __init__(self, at: int) -> None:
        self._left = at
        self.hit = False

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event in ("call", "c_return") and "tailrace" in frame.f_globals.get("__name__", ""):
            self._left -= 1
            if self._left < 0:
                sys.setprofile(None)
                self.hit = True
                raise SoftTimeLimit


def received(subscription: Subscription, interrupter: Interrupter) -> list[bytes]:
    found: list[bytes] = []
    before = sys.getprofile()
    sys.setprofile(interrupter)
    try:
        while True:
            try:
                record = subscription.receive(5.0)
            except SoftTimeLimit:
                continue
            if record is CLOSED:
                return found
            assert isinstance(record, DurableStreamRecord)
            found.append(record.payload)
    finally:
        sys.setprofile(before)


def test_whoever_goes_on_after_an_interrupt_misses_and_repeats_nothing() -> None:
    at, hit = 0, True
    options = EngineOptions(page_records=3, buffer_records=4)
    with StreamClient(MemoryStore(), options=options) as client:
        topic = client.topic("t")
        topic.append_many(WRITTEN)
        topic.seal()
        while hit:
            interrupter = Interrupter(at)
            with topic.subscribe_from_beginning() as subscription:
                assert received(subscription, interrupter) == WRITTEN, f"interrupted at call {at}"
            at, hit = at + 1, interrupter.hit
    assert at > 100
