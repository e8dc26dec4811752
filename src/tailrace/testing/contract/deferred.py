"""Appends to a topic that somebody else holds locked: stored or refused in time, in order, and in nobody's way.

For stores that declare ``defers``. Of the others the first case holds.
"""

import pytest

from tailrace import spi
from tailrace.errors import DurableStreamUnavailableError
from tailrace.testing.drivers import Client, Driver
from tailrace.testing.fixtures import Connect
from tailrace.testing.outcome import not_run
from tailrace.testing.reading import numbered, payloads, take
from tailrace.testing.stores import StoreUnderTest


class TestDeferred:
    def test_nothing_is_deferred_where_nobody_holds_the_topic(self, store: StoreUnderTest, name: str) -> None:
        for payload in numbered(2):
            (outcome,) = store.tool.append([spi.Entry(name, [payload], may_wait=False)], 10.0)
            assert isinstance(outcome, spi.Appended)
        assert store.contents(name) == numbered(2)

    def test_an_entry_that_may_not_wait_is_deferred_and_its_neighbours_are_stored(
        self, store: StoreUnderTest, name: str
    ) -> None:
        held, new = _held(store), store.fresh_name()
        store.grow(name, [b"0"])
        with store.hold(held):
            entries = [spi.Entry(each, [b"1"], may_wait=False) for each in (held, name, held, new)]
            outcomes = store.tool.append(entries, 10.0)
        kinds = [spi.AppendDeferred, spi.Appended, spi.AppendDeferred, spi.Appended]
        assert [type(outcome) for outcome in outcomes] == kinds
        assert [store.contents(each) for each in (held, name, new)] == [[b"0"], [b"0", b"1"], [b"1"]]

    def test_one_that_may_wait_keeps_nobody_up_who_comes_with_it(self, store: StoreUnderTest, name: str) -> None:
        held = _held(store)
        with store.hold(held):
            entries = [spi.Entry(held, [b"1"], may_wait=True), spi.Entry(name, [b"1"], may_wait=False)]
            waited, other = store.tool.append(entries, 1.0)
        assert isinstance(waited, spi.AppendDeferred | spi.AppendRefused)
        assert isinstance(other, spi.Appended)
        assert [store.contents(each) for each in (held, name)] == [[b"0"], [b"1"]]

    def test_it_is_stored_when_the_topic_is_let_go_and_others_were_not_delayed(
        self, streams: Client, elsewhere: Client, store: StoreUnderTest, driver: Driver, name: str
    ) -> None:
        held = _held(store)
        with streams.topic(held).subscribe_from_tail() as live:
            with store.hold(held):
                waiting = driver.start(lambda: streams.topic(held).append_many(numbered(3, 1)))
                # None of these could come back before the lock does, if they had to wait for it.
                for client in (streams, elsewhere):
                    for each in (name, store.fresh_name()):
                        client.topic(each).append(b"x")
            waiting.result()
            assert payloads(take(live, 3)) == numbered(3, 1)
        assert store.contents(held) == numbered(4)
        assert store.contents(name) == [b"x", b"x"]

    def test_what_waits_is_stored_whole_and_in_one_order_for_all(
        self, streams: Client, elsewhere: Client, store: StoreUnderTest, driver: Driver
    ) -> None:
        held = _held(store)
        batches = [[b"%d:%d" % (number, part) for part in range(3)] for number in range(6)]
        with streams.topic(held).subscribe_from_tail() as here, elsewhere.topic(held).subscribe_from_tail() as there:
            with store.hold(held):
                calls = [
                    driver.start(lambda c=client, b=batch: c.topic(held).append_many(b))  # type: ignore[misc]
                    for client, batch in zip([streams, elsewhere] * 3, batches, strict=True)
                ]
            for call in calls:
                call.result()
            # Called after all of them had returned: it comes after all of them.
            streams.topic(held).append(b"last")
            found = payloads(take(here, 19))
            assert found == payloads(take(there, 19))
        assert [b"0", *found] == store.contents(held)
        assert found[-1] == b"last"
        whole = [found[at : at + 3] for at in range(0, 18, 3)]
        assert sorted(whole) == batches

    def test_it_is_refused_in_time_where_the_topic_stays_locked_and_was_not_stored(
        self, connect: Connect, store: StoreUnderTest, name: str
    ) -> None:
        held = _held(store)
        # Databases wait for locks in whole seconds, and not every driver can be cut before.
        client = connect(append_timeout=2.5)
        with store.hold(held):
            with pytest.raises(DurableStreamUnavailableError) as caught:
                client.topic(held).append(b"too late")
            assert caught.value.maybe_stored is False
            client.topic(name).append(b"x")
        client.topic(held).append(b"1")
        assert store.contents(held) == [b"0", b"1"]

    def test_a_reader_of_a_topic_that_is_held_waits_for_nobody(self, streams: Client, store: StoreUnderTest) -> None:
        held = _held(store)
        with store.hold(held), streams.topic(held).subscribe_from_beginning() as subscription:
            assert payloads(take(subscription, 1)) == [b"0"]


def _held(store: StoreUnderTest) -> str:
    """Return a topic with one record, on a store where somebody can hold it."""
    if not store.tool.capabilities.defers:
        not_run("the store declares that nobody can lock one of its topics")
    topic = store.fresh_name()
    store.grow(topic, [b"0"])
    return topic
