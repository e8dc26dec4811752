"""Sweeps: what is kept of which topic, and sweeping that goes on by itself."""

import time

import pytest

from tailrace import spi
from tailrace.retention import Retention
from tailrace.testing.fixtures import Connect
from tailrace.testing.outcome import not_run
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

    @pytest.mark.parametrize("task", ["cut", "forget"])
    def test_a_topic_that_somebody_holds_is_passed_and_has_its_turn_when_it_is_let_go(
        self, connect: Connect, store: StoreUnderTest, task: str
    ) -> None:
        if not store.tool.capabilities.defers:
            not_run("the store declares that nobody can lock one of its topics")
        if not store.disposable:
            not_run("a sweep would touch other topics of this store")
        held, other = store.fresh_name(), store.fresh_name()
        limits = {"retention": Retention(max_records=1)} if task == "cut" else {"forget_after": 0.01}
        operations = connect(**limits).maintenance
        for each in (held, other):
            store.grow(each, numbered(3))
            if task == "forget":
                store.trim(each, keep=0)
        time.sleep(0.05)
        with store.hold(held):
            # The second one begins where the first one ended: at whatever was passed.
            assert [operations.sweep(spi.SweepBudget()).done for _ in range(2)] == [False, False]
            assert _left(store, held, other) == ([3, 1] if task == "cut" else [0, None])
        while not operations.sweep(spi.SweepBudget()).done:
            pass
        assert _left(store, held, other) == ([1, 1] if task == "cut" else [None, None])


def _left(store: StoreUnderTest, *topics: str) -> list[int | None]:
    """Return how many records each of the topics has, ``None`` for one that is gone."""
    records = {info.name: info.records for info in store.operations.topics()}
    return [records.get(topic) for topic in topics]


def _wait_until_left(store: StoreUnderTest, topic: str, records: int) -> None:
    deadline = time.monotonic() + _SOON
    # Counted by the store: whoever reads meanwhile may lose its place to the sweep.
    while [info.records for info in store.operations.topics(prefix=topic)] != [records]:
        assert time.monotonic() < deadline, f"there are not just {records} records left"
        time.sleep(0.01)
