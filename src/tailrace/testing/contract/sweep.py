"""Sweeps: what is kept of which topic, and sweeping that goes on by itself."""

import time

from tailrace import spi
from tailrace.retention import Retention
from tailrace.testing.fixtures import Connect
from tailrace.testing.reading import numbered
from tailrace.testing.stores import StoreUnderTest

_SOON = 10.0


class TestSweep:
    def test_a_topic_that_matches_a_pattern_is_kept_by_it(
        self, connect: Connect, name: str, store: StoreUnderTest
    ) -> None:
        other, third = store.fresh_name(), store.fresh_name()
        rules = {f"{name}*": Retention(max_records=2), third: Retention()}
        client = connect(retention=Retention(max_records=4), topic_retention=rules)
        for each in (name, other, third):
            for payload in numbered(6):
                client.topic(each).append(payload)
        client.maintenance.sweep(spi.SweepBudget())
        kept = [store.contents(each) for each in (name, other, third)]
        assert kept == [numbered(2, 4), numbered(4, 2), numbered(6)]

    def test_the_first_pattern_that_matches_holds(self, connect: Connect, name: str, store: StoreUnderTest) -> None:
        rules = {f"{name[:-1]}*": Retention(max_records=3), name: Retention(max_records=1)}
        client = connect(topic_retention=rules)
        client.topic(name).append_many(numbered(5))
        client.maintenance.sweep(spi.SweepBudget())
        assert store.contents(name) == numbered(3, 2)

    def test_ages_are_kept_by_pattern(self, connect: Connect, name: str, store: StoreUnderTest) -> None:
        other = store.fresh_name()
        rules = {f"{name}*": Retention(max_age=0.05), f"{other}*": Retention(max_age=3600)}
        # What is so recent that its append may still be on its way is kept. The same timeout bounds each call of the
        # operator: on a busy machine a much shorter one is not kept.
        writer, operator = connect(), connect(topic_retention=rules, append_timeout=1.0)
        for each in (name, other):
            writer.topic(each).append_many(numbered(3))
        time.sleep(1.1)
        operator.maintenance.sweep(spi.SweepBudget())
        assert [store.contents(each) for each in (name, other)] == [[], numbered(3)]

    def test_sweeping_by_itself_goes_on_until_it_is_closed(
        self, connect: Connect, name: str, store: StoreUnderTest
    ) -> None:
        client = connect()
        client.topic(name).append_many(numbered(9))
        operator = connect(topic_retention={name: Retention(max_records=4)})
        with operator.maintenance.sweep_every(0.05) as sweeping:
            _wait_until_left(store, name, 4)
            client.topic(name).append_many(numbered(9))
            _wait_until_left(store, name, 4)
        rounds = sweeping.rounds
        assert rounds >= 2
        client.topic(name).append_many(numbered(9))
        time.sleep(0.2)
        assert (sweeping.rounds, store.contents(name)) == (rounds, [*numbered(4, 5), *numbered(9)])


def _wait_until_left(store: StoreUnderTest, topic: str, records: int) -> None:
    deadline = time.monotonic() + _SOON
    # Counted by the store: whoever reads meanwhile may lose its place to the sweep.
    while [info.records for info in store.operations.topics(prefix=topic)] != [records]:
        assert time.monotonic() < deadline, f"there are not just {records} records left"
        time.sleep(0.01)
