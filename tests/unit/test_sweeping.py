"""Sweeping again and again: when it rests, what it survives, when it ends."""

import logging
import threading
import time

import pytest

from tailrace.errors import DurableStreamUnavailableError
from tailrace.spi import SweepReport
from tailrace.sweeping import SHORTEST_REST, Sweeping, rest, sweep_until

DONE = SweepReport(1, 0, 0, 0, done=True)


def test_it_rests_as_long_as_a_round_took_while_there_is_more_to_do() -> None:
    assert rest(60.0, 2.0, done=False) == 2.0
    assert rest(60.0, 0.0, done=False) == SHORTEST_REST
    assert rest(1.0, 5.0, done=False) == 1.0


def test_processes_that_were_started_together_do_not_sweep_together() -> None:
    rests = {rest(60.0, 2.0, done=True) for _ in range(20)}
    assert len(rests) > 1
    assert all(54.0 <= each <= 66.0 for each in rests)


def test_a_round_that_fails_is_logged_and_followed_by_the_next(caplog: pytest.LogCaptureFixture) -> None:
    stopped = threading.Event()
    answers = [DurableStreamUnavailableError("the store is away"), DONE]

    def sweep() -> SweepReport:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    with caplog.at_level(logging.WARNING, "tailrace.sweep"):
        sweep_until(stopped, sweep, 0.001, lambda _: stopped.set(), over=lambda: False)
    assert answers == []
    assert "the store is away" in caplog.text


def test_it_ends_by_itself_once_there_is_no_use_in_another_round() -> None:
    def sweep() -> SweepReport:
        raise DurableStreamUnavailableError("the store is closed")

    sweep_until(threading.Event(), sweep, 60.0, lambda _: None, over=lambda: True)


def test_closing_waits_for_the_round_that_runs() -> None:
    begun, ended = threading.Event(), threading.Event()

    def sweep() -> SweepReport:
        begun.set()
        time.sleep(0.05)
        ended.set()
        return DONE

    with Sweeping(sweep, 60.0, over=lambda: False) as sweeping:
        assert begun.wait(5)
    assert ended.is_set()
    assert (sweeping.rounds, sweeping.last) == (1, DONE)
