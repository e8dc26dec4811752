"""Attempts at one task, one after the other and beside each other: who writes what, and who ends the stream."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.celery.attempts import Attempt, said
from tests.http.doors.serving import served

from tailrace import workflow
from tailrace.errors import DurableStreamUnavailableError, InvalidArgumentError
from tailrace.integrations.celery import Attempts, SupersededError
from tailrace.workflow import (
    Appended,
    IdempotencyConflictError,
    RunStreams,
    Status,
    StreamClosedError,
    StreamErroredError,
)


@pytest.fixture(params=["embedded", pytest.param("remote", marks=pytest.mark.long)])
def workflows(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[workflow.Workflows]:
    """A new store: in this process, and behind a server."""
    store = f"sqlite:///{tmp_path}/events.db"
    if request.param == "embedded":
        with workflow.connect(store) as opened:
            yield opened
    else:
        with served(store) as server, workflow.connect(server.url, token="a-token-of-tests") as opened:
            yield opened


def test_a_repeated_attempt_stores_nothing_twice(run: RunStreams) -> None:
    for _ in range(2):
        with Attempt(run).stream() as out:
            out.append(["a", "b"])
            out.append(["c"])

    assert said(run) == ["a", "b", "c"]
    assert run.describe("out").status is Status.CLOSED


def test_a_repeated_attempt_that_says_something_else_is_told_so_and_stores_nothing(run: RunStreams) -> None:
    Attempt(run).stream().append(["a"])

    with pytest.raises(IdempotencyConflictError):
        with Attempt(run).stream() as out:
            out.append(["other"])

    assert said(run) == ["a"]


def test_a_later_attempt_that_starts_anew_says_so_first_and_what_was_said_stays(run: RunStreams) -> None:
    first = Attempt(run).stream(attempts="restart").__enter__()
    first.append(["a", "b"])
    with Attempt(run, retries=1).stream(attempts="restart") as second:
        assert second.count == 4
        second.append(["c"])

    items = run.subscribe("out").items
    assert said(run) == ["*", "a", "b", "*", "c"]
    assert [item.payload["retries"] for item in items if item.item_type == "attempt"] == [0, 1]
    with pytest.raises(SupersededError):
        first.append(["late"])


def test_a_later_attempt_that_continues_goes_on_behind_what_is_there(run: RunStreams) -> None:
    Attempt(run).stream(attempts="continue").append(["a", "b"])

    with Attempt(run).stream(attempts="continue") as out:
        assert out.count == 2
        out.append(["c"])

    assert said(run) == ["a", "b", "c"]
    assert run.describe("out").status is Status.CLOSED


@pytest.mark.parametrize("attempts", ["restart", "continue"])
def test_an_attempt_that_was_superseded_neither_writes_nor_ends_the_stream(run: RunStreams, attempts: Attempts) -> None:
    first = Attempt(run)
    old = first.stream(attempts=attempts).__enter__()
    old.append(["a"])
    new = Attempt(run).stream(attempts=attempts).__enter__()
    new.append(["b"])
    with pytest.raises(SupersededError):
        old.append(["late"])
    # It goes on all the same, to the end of its block.
    with pytest.raises(SupersededError):
        old.__exit__(None, None, None)
    first.ends("IGNORED")

    assert run.describe("out").status is Status.OPEN
    new.append(["c"])
    new.__exit__(None, None, None)
    assert [payload for payload in said(run) if payload != "*"] == ["a", "b", "c"]
    assert run.describe("out").status is Status.CLOSED


@pytest.mark.parametrize("state", ["FAILURE", "RETRY"])
def test_an_attempt_that_was_superseded_and_does_not_know_ends_nothing_when_it_fails(
    run: RunStreams, state: str
) -> None:
    first = Attempt(run)
    old = first.stream(attempts="restart").__enter__()
    old.append(["a"])
    new = Attempt(run).stream(attempts="restart").__enter__()
    old.__exit__(ValueError, ValueError("of the first"), None)
    first.ends(state, ValueError("of the first"))

    new.append(["b"])
    new.__exit__(None, None, None)
    assert said(run) == ["*", "a", "*", "b"]


def test_of_two_attempts_that_begin_together_one_writes(run: RunStreams) -> None:
    one = Attempt(run).stream(attempts="continue").__enter__()
    other = Attempt(run).stream(attempts="continue").__enter__()
    one.append(["a"])
    with pytest.raises(SupersededError):
        other.append(["b"])
    one.append(["c"])
    # Its end is refused like its items.
    with pytest.raises(SupersededError):
        other.__exit__(None, None, None)
    assert run.describe("out").status is Status.OPEN
    one.__exit__(None, None, None)

    assert said(run) == ["a", "c"]


def test_an_attempt_that_begins_gets_in_front_of_one_that_writes(run: RunStreams) -> None:
    old = Attempt(run).stream(attempts="restart").__enter__()
    old.append(["a"])

    class Overtaken(RunStreams):
        """In which the old attempt says something more whenever the new one has looked."""

        said = 0

        def append(self, name: str, *args: object, **options: object) -> Appended:
            if self.said < 3:
                self.said += 1
                old.append([self.said])
            return super().append(name, *args, **options)  # type: ignore[arg-type]

    with Attempt(Overtaken(run._service, run._run)).stream(attempts="restart") as new:
        new.append(["b"])
        with pytest.raises(SupersededError):
            old.append(["late"])

    assert said(run) == ["*", "a", 1, 2, 3, "*", "b"]


@pytest.mark.parametrize("attempts", ["restart", "continue"])
def test_an_append_whose_answer_was_lost_can_be_made_again(run: RunStreams, attempts: Attempts) -> None:
    class Deaf(RunStreams):
        """Which hears no answer to its first append."""

        heard = True

        def append(self, name: str, *args: object, **options: object) -> Appended:
            appended = super().append(name, *args, **options)  # type: ignore[arg-type]
            if not self.heard:
                self.heard = True
                raise DurableStreamUnavailableError("the line was cut", maybe_stored=True)
            return appended

    deaf = Deaf(run._service, run._run)
    with Attempt(deaf).stream(attempts=attempts) as out:
        deaf.heard = False
        with pytest.raises(DurableStreamUnavailableError):
            out.append(["a", "b"])
        out.append(["a", "b"])
        out.append(["c"])

    assert [payload for payload in said(run) if payload != "*"] == ["a", "b", "c"]


@pytest.mark.parametrize("attempts", ["repeat", "restart", "continue"])
def test_an_attempt_after_the_end_is_told_that_there_is_nothing_left_to_write(
    run: RunStreams, attempts: Attempts
) -> None:
    with Attempt(run).stream(attempts=attempts) as first:
        assert not first.ended
        first.append(["a"])

    with Attempt(run).stream(attempts=attempts) as out:
        assert (out.ended, out.count) == (True, first.count)
        if attempts == "repeat":
            out.append(["a"])
        with pytest.raises(StreamClosedError):
            out.append(["b"])

    assert said(run)[-1] == "a"


def test_an_attempt_that_comes_too_late_fails_before_it_does_anything(run: RunStreams) -> None:
    Attempt(run).stream().append(["a"])
    run.error("out", "producer lost")
    done = []

    with pytest.raises(StreamErroredError):
        with Attempt(run).stream():
            done.append("work")

    assert done == []


def test_a_stream_that_attempts_number_is_of_one_task_alone(run: RunStreams) -> None:
    out = Attempt(run).stream(attempts="continue")
    out.append(["a"])
    run.append("out", ["of somebody else"])

    with pytest.raises(InvalidArgumentError, match="not this task's alone"):
        out.append(["b"])


def test_tasks_that_repeat_may_share_a_stream(run: RunStreams) -> None:
    with Attempt(run, task_id="task-1").stream() as one, Attempt(run, task_id="task-2").stream() as other:
        one.append(["a"])
        other.append(["b"])
        one.append(["c"])

    assert said(run) == ["a", "b", "c"]


def test_what_is_no_way_of_attempts_is_refused(run: RunStreams, workflows: workflow.Workflows) -> None:
    with pytest.raises(InvalidArgumentError, match="attempts must be"):
        Attempt(run).stream(attempts="again")
