"""Nothing is left behind, however often: threads, files, registered readers, objects, memory.

``repeats`` says how often; define that fixture anew, with ten thousand, for a run that shows what a hundred can not.
"""

from collections.abc import Callable
from contextlib import nullcontext, suppress

import pytest

from tailrace.errors import CursorUnavailableError, DurableStreamUnavailableError
from tailrace.testing.calls import Call, Cancelled
from tailrace.testing.drivers import Client, Driver, Subscription
from tailrace.testing.faults import Fail, FaultyBackend
from tailrace.testing.fixtures import Connect
from tailrace.testing.leaks import no_leaks, nothing_registered, steady_memory
from tailrace.testing.reading import PATIENCE, awake, payloads, take
from tailrace.testing.stores import StoreUnderTest

TRACED_FROM = 1000
"""Repetitions from which the memory is watched, too: it takes that many to tell a leak from noise."""

MEMORY = 3 * 2**20
"""Bytes more that are no leak yet; less than the smallest reader in ten thousand copies."""


@pytest.mark.usefixtures("swallowed_interrupts")
class TestLeaks:
    def test_subscribing_entering_and_closing_leave_nothing(
        self, streams: Client, store: StoreUnderTest, repeats: int
    ) -> None:
        topics = [streams.topic(store.fresh_name()) for _ in range(7)]
        for topic in topics[:5]:
            topic.append(b"x")

        def once(number: int) -> None:
            topic = topics[number % 7]
            topic.subscribe_from_tail()
            with topic.subscribe_from_beginning() as subscription:
                if number % 7 < 5:
                    take(subscription, 1)
                subscription.receive(timeout=0)

        _again(once, streams, repeats)

    def test_enters_that_the_store_fails_leave_nothing(
        self, connect: Connect, faulty: FaultyBackend, name: str, repeats: int
    ) -> None:
        client = connect(faulty)
        client.topic(name).append(b"x")

        def once(_: int) -> None:
            subscription = client.topic(name).subscribe_from_beginning()
            # Not the next one alone: the reading loop may still have one to make, on a store that is slow.
            faulty.always("read", Fail())
            assert _fails_to_enter(subscription, DurableStreamUnavailableError)
            faulty.heal()

        _again(once, client, repeats)

    def test_enters_whose_place_is_gone_leave_nothing(
        self, streams: Client, name: str, store: StoreUnderTest, repeats: int
    ) -> None:
        topic = streams.topic(name)
        topic.append_many([b"x", b"y"])
        lost = [topic.subscribe_from_beginning() for _ in range(_warm(repeats // 10) + repeats // 10)]
        store.trim(name, keep=1)

        def once(_: int) -> None:
            assert _fails_to_enter(lost.pop(), CursorUnavailableError)

        _again(once, streams, repeats // 10)

    def test_cancelled_receives_leave_nothing(self, streams: Client, driver: Driver, name: str, repeats: int) -> None:
        topic = streams.topic(name)
        with topic.subscribe_from_tail() as subscription:

            def once(_: int) -> None:
                call = driver.start(lambda: subscription.receive(PATIENCE))
                call.cancel()
                # A thread has its interrupt when it wakes.
                topic.append(b"x")
                _settle(call)
                subscription.receive(timeout=0)

            _again(once, streams, repeats)

    def test_cancelled_subscribes_leave_nothing(self, streams: Client, driver: Driver, name: str, repeats: int) -> None:
        topic = streams.topic(name)
        topic.append(b"x")

        def once(number: int) -> None:
            call = driver.start((topic.subscribe_from_beginning, topic.subscribe_from_tail)[number % 2])
            call.cancel()
            _settle(call)

        _again(once, streams, repeats)

    def test_cancelled_enters_leave_nothing(self, streams: Client, driver: Driver, name: str, repeats: int) -> None:
        topic = streams.topic(name)
        topic.append(b"x")

        def once(_: int) -> None:
            subscription = topic.subscribe_from_beginning()
            call = driver.start(subscription.__enter__)
            call.cancel()
            _settle(call)
            # It may have been entered before it was hit.
            subscription.close()

        _again(once, streams, repeats)

    def test_cancelled_appends_leave_nothing(self, streams: Client, driver: Driver, name: str, repeats: int) -> None:
        topic = streams.topic(name)
        with topic.subscribe_from_tail() as subscription:

            def once(_: int) -> None:
                call = driver.start(lambda: topic.append(b"x"))
                call.cancel()
                _settle(call)
                subscription.receive(timeout=0)

            def read_all() -> None:
                # What arrives later than it was looked for waits in the subscription, and is no leak.
                topic.append(b"the last")
                while payloads(take(subscription, 1)) != [b"the last"]:
                    pass

            _again(once, streams, repeats, read_all)


def _again(once: Callable[[int], None], client: Client, repeats: int, at_last: Callable[[], object] = bool) -> None:
    awake(client)
    for number in range(_warm(repeats)):
        once(number)
    memory = steady_memory(MEMORY + 400 * repeats) if repeats >= TRACED_FROM else nullcontext()
    with no_leaks(pooled_files=10), nothing_registered(client), memory:
        for number in range(repeats):
            once(number)
        at_last()


def _warm(repeats: int) -> int:
    return max(10, repeats // 10)


def _fails_to_enter(subscription: Subscription, kind: type[Exception]) -> bool:
    try:
        subscription.__enter__()
    except kind:
        return True
    return False


def _settle(call: Call[object]) -> None:
    with suppress(Cancelled):
        call.result()
