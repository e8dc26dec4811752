"""An interrupt inside ``receive``, at every place where Python may deliver one: nothing is missed, nothing repeated."""

from tests.unit.engine.interrupter import Interrupter, SoftTimeLimit

from tailrace import CLOSED, EngineOptions, StreamClient
from tailrace.backends.memory import MemoryStore
from tailrace.records import DurableStreamRecord
from tailrace.subscription import Subscription

WRITTEN = [b"%d" % number for number in range(12)]


def received(subscription: Subscription, interrupter: Interrupter) -> list[bytes]:
    found: list[bytes] = []
    with interrupter.at_work():
        while True:
            try:
                record = subscription.receive(5.0)
            except SoftTimeLimit:
                continue
            if record is CLOSED:
                return found
            assert isinstance(record, DurableStreamRecord)
            found.append(record.payload)


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
