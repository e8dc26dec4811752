"""A whole worker that is killed, and deliveries of a task that still runs; other pools than prefork."""

from pathlib import Path

import pytest
from tests.celery.worker import kill, place, until, worker

from tailrace.workflow import Status

WORDS = ["one", "two", "three", "four"]

pytestmark = pytest.mark.long


@pytest.mark.parametrize(
    ("attempts", "first", "both"),
    [
        ("repeat", WORDS[:2], WORDS),
        ("restart", ["*", *WORDS[:2]], ["*", *WORDS[:2], "*", *WORDS]),
    ],
)
def test_another_worker_goes_on_with_the_task_of_one_that_was_killed(
    broker: str, tmp_path: Path, attempts: str, first: list[str], both: list[str]
) -> None:
    with place(broker, tmp_path) as here:
        with worker(here, visibility=2) as process:
            here.send("waiting", "lost", attempts)
            until((tmp_path / "lost.waits").exists)
            kill(process)
        assert here.said("lost") == first
        (tmp_path / "lost.go").touch()
        with worker(here, visibility=2):
            assert here.ended("lost").status is Status.CLOSED
        assert here.said("lost") == both


def test_a_task_that_is_delivered_again_while_it_runs_is_taken_over(broker: str, tmp_path: Path) -> None:
    # The broker takes a task that runs for longer than the visibility timeout for one whose worker was lost.
    with place(broker, tmp_path) as here, worker(here, "-c", "4", visibility=2):
        here.send("waiting", "twice", "restart")
        until(lambda: here.stream("twice") is not None and here.said("twice").count("*") == 2)
        (tmp_path / "twice.go").touch()
        assert here.ended("twice").status is Status.CLOSED
        said = here.said("twice")
        until(lambda: "ignored" in (tmp_path / "worker.log").read_text())
    # Both stood at the same door; the one that came first could say nothing behind it.
    assert said[:3] == ["*", *WORDS[:2]]
    last = len(said) - said[::-1].index("*")
    assert said[last:] == WORDS


def test_a_worker_that_is_told_to_stop_lets_its_task_end_the_stream(broker: str, tmp_path: Path) -> None:
    with place(broker, tmp_path) as here:
        with worker(here):
            here.send("silent", "stopped", 2.5)
            until(lambda: here.stream("stopped") is not None)
        # The block has sent SIGTERM and waited for the worker.
        assert here.ended("stopped").status is Status.CLOSED
        assert here.said("stopped") == WORDS


@pytest.mark.parametrize("pool", ["threads", "gevent", "solo"])
def test_another_pool_closes_what_is_silent_for_longer_than_its_lease(broker: str, tmp_path: Path, pool: str) -> None:
    names = [f"{pool}{number}" for number in range(1 if pool == "solo" else 5)]
    with place(broker, tmp_path) as here, worker(here, "--pool", pool, "-c", "8"):
        for name in names:
            here.send("silent", name, 2.5)
        here.send("hopeless", "hopeless")
        here.send("retried", "again", 0.5, "restart")

        assert [here.ended(name).status for name in names] == [Status.CLOSED] * len(names)
        assert [here.said(name) for name in names] == [WORDS] * len(names)
        assert here.ended("hopeless").error_reason == "gave up after 2 retries"
        assert here.ended("again").status is Status.CLOSED
        assert here.said("again") == ["*", *WORDS[:2], "*", *WORDS]
