"""Outages and wake-ups."""

import threading

from tailrace.engine.backoff import LONGEST_DELAY, Outage
from tailrace.engine.waiter import Latch, Waiter


def test_an_outage_is_counted_from_its_first_failure_and_given_up_at_its_budget() -> None:
    outage = Outage(10.0)

    assert outage.failed(100.0)
    assert outage.failed(109.9)
    assert outage.retry_at <= 110.0
    assert not outage.failed(110.0)


def test_a_budget_of_zero_gives_up_at_once() -> None:
    assert not Outage(0).failed(100.0)


def test_a_success_starts_the_budget_anew() -> None:
    outage = Outage(10.0)
    outage.failed(100.0)

    outage.over()

    assert outage.since is None
    assert outage.failed(120.0)


def test_delays_grow_to_a_limit_below_a_second() -> None:
    outage = Outage(1e9)

    delays = []
    for now in range(100):
        outage.failed(float(now))
        delays.append(outage.retry_at - now)

    assert delays[0] < 0.05
    assert max(delays) <= LONGEST_DELAY * 1.25 < 1.0
    assert min(delays[20:]) >= LONGEST_DELAY * 0.75


def test_a_latch_released_before_the_wait_does_not_block_and_twice_wakes_once() -> None:
    latch = Latch()
    latch.release()
    latch.release()

    assert latch.wait(5.0)
    assert not latch.wait(0.0)


def test_a_fire_between_looking_and_waiting_is_not_lost() -> None:
    waiter = Waiter()
    seen = waiter.generation
    waiter.fire()

    woke = threading.Event()

    def wait() -> None:
        waiter.wait(seen, 60.0)
        woke.set()

    threading.Thread(target=wait, daemon=True).start()

    assert woke.wait(5.0)


def test_a_fire_from_another_thread_wakes_the_waiting_one() -> None:
    waiter = Waiter()
    seen = waiter.generation
    thread = threading.Thread(target=waiter.wait, args=(seen, 60.0), daemon=True)
    thread.start()

    waiter.fire()
    thread.join(5.0)

    assert not thread.is_alive()


def test_a_listener_is_called_by_every_fire_until_it_is_removed() -> None:
    waiter = Waiter()
    calls: list[int] = []
    listener = lambda: calls.append(1)  # noqa: E731 - the very same object twice
    waiter.listen(listener)
    waiter.fire()
    waiter.leave(listener)
    waiter.fire()

    assert calls == [1]


def test_whoever_leaves_late_does_not_take_its_successor_along() -> None:
    waiter = Waiter()
    calls: list[int] = []
    waiter.listen(lambda: calls.append(1))
    waiter.leave(lambda: calls.append(2))
    waiter.fire()

    assert calls == [1]
