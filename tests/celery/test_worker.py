"""Tasks in a real worker with a prefork pool: what readers see of retries, kills, limits and silence."""

import time
from collections.abc import Iterator

import pytest
from tests.celery.worker import Place, place, until, worker

from tailrace.workflow import Status

WORDS = ["one", "two", "three", "four"]


@pytest.fixture(scope="module")
def here(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A place with a worker, whose pool these tests share: kills leave it with new children."""
    with place(broker, tmp_path_factory.mktemp("celery")) as where, worker(where):
        yield where


@pytest.mark.parametrize("task", ["plain", "lazily"])
def test_a_stream_is_closed_by_its_task_with_a_client_from_before_the_fork_or_after(here: Place, task: str) -> None:
    here.send(task, task)

    assert here.ended(task).status is Status.CLOSED
    assert here.said(task) == WORDS


@pytest.mark.parametrize(
    ("attempts", "seen"),
    [
        pytest.param("repeat", WORDS, marks=pytest.mark.long),
        pytest.param("continue", WORDS, marks=pytest.mark.long),
        ("restart", ["*", *WORDS[:2], "*", *WORDS]),
    ],
)
def test_a_retry_leaves_the_stream_open_for_longer_than_its_lease_and_goes_on(
    here: Place, attempts: str, seen: list[str]
) -> None:
    # The lease is a second: what was said of the next attempt keeps the stream until that has begun.
    here.send("retried", f"retried-{attempts}", 1.7, attempts)

    assert here.ended(f"retried-{attempts}").status is Status.CLOSED
    assert here.said(f"retried-{attempts}") == seen


def test_a_task_that_fails_in_every_attempt_tells_readers_why_and_doubles_nothing(here: Place) -> None:
    here.send("hopeless", "hopeless")

    ended = here.ended("hopeless")

    assert (ended.status, ended.error_reason) == (Status.ERRORED, "gave up after 2 retries")
    assert here.said("hopeless") == WORDS[:2]


@pytest.mark.parametrize(
    ("attempts", "seen"),
    [
        pytest.param("repeat", WORDS, marks=pytest.mark.long),
        pytest.param("continue", WORDS, marks=pytest.mark.long),
        ("restart", ["*", *WORDS[:2], "*", *WORDS]),
    ],
)
def test_a_child_that_is_killed_leaves_the_stream_to_the_redelivered_task(
    here: Place, attempts: str, seen: list[str]
) -> None:
    here.send("redelivered", f"redelivered-{attempts}", attempts)

    assert here.ended(f"redelivered-{attempts}").status is Status.CLOSED
    assert here.said(f"redelivered-{attempts}") == seen


@pytest.mark.long
def test_a_child_that_is_killed_after_the_end_leaves_a_task_that_finds_it_ended(here: Place) -> None:
    here.send("killed_after", "after")

    until(lambda: (here.folder / "after.ended").exists())

    assert here.ended("after").status is Status.CLOSED
    assert here.said("after") == ["*", *WORDS]


def test_a_child_that_is_killed_and_not_redelivered_is_a_lost_producer(here: Place) -> None:
    here.send("killed", "lost", "repeat", 1)

    ended = here.ended("lost")

    assert (ended.status, ended.error_reason) == (Status.ERRORED, "producer lost")
    assert here.said("lost") == WORDS[:2]


def test_a_task_may_be_silent_for_longer_than_its_lease(here: Place) -> None:
    here.send("silent", "silent", 2.2)

    assert here.ended("silent").status is Status.CLOSED
    assert here.said("silent") == WORDS


@pytest.mark.parametrize(
    ("graceful", "reason", "seen"),
    [(False, "SoftTimeLimitExceeded", ["begun"]), (True, None, ["begun", "cut short"])],
)
def test_a_soft_time_limit_ends_the_stream_as_the_task_takes_it(
    here: Place, graceful: bool, reason: str | None, seen: list[str]
) -> None:
    here.send("limited", f"limited-{graceful}", graceful)

    assert here.ended(f"limited-{graceful}").error_reason == reason
    assert here.said(f"limited-{graceful}") == seen


def test_a_task_that_says_nothing_has_no_stream(here: Place) -> None:
    here.send("mute", "mute")

    until(lambda: (here.folder / "mute.done").exists())

    assert here.stream("mute") is None


@pytest.mark.long
def test_a_task_that_is_terminated_is_a_lost_producer(here: Place) -> None:
    task_id = here.send("silent", "terminated", 60.0)
    until(lambda: here.stream("terminated") is not None)

    here.sender.control.revoke(task_id, terminate=True, signal="SIGTERM")

    ended = here.ended("terminated")
    assert (ended.status, ended.error_reason) == (Status.ERRORED, "producer lost")
    assert here.said("terminated") == WORDS[:2]


@pytest.mark.long
def test_a_hard_time_limit_is_a_lost_producer(here: Place) -> None:
    here.send("silent", "hard", 60.0, time_limit=2)

    ended = here.ended("hard")
    assert (ended.status, ended.error_reason) == (Status.ERRORED, "producer lost")


@pytest.mark.long
def test_a_task_that_was_never_begun_has_no_stream(here: Place) -> None:
    task_id = here.send("plain", "revoked", countdown=3)
    here.sender.control.revoke(task_id)
    time.sleep(5)

    assert here.stream("revoked") is None
