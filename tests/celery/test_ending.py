"""What becomes of a stream when its task ends in one way or another."""

import contextlib
import datetime
import logging
import threading
import time

import pytest
from celery import Celery, Task
from celery.exceptions import Ignore, Reject, Retry, SoftTimeLimitExceeded
from tests.celery.attempts import Attempt, leases, said

from tailrace.errors import DurableStreamUnavailableError, InvalidArgumentError, InvalidTypeError
from tailrace.integrations.celery import task_stream
from tailrace.integrations.celery.ending import Continued, Failed, outcome_of
from tailrace.integrations.celery.lease import Renewal
from tailrace.integrations.celery.reasons import reason_text
from tailrace.workflow import (
    InvalidFieldsError,
    RunNotFoundError,
    RunStreams,
    Status,
    Stream,
    StreamErroredError,
    Workflows,
)

BOOM = ValueError("boom")


@pytest.fixture
def app() -> Celery:
    """An application whose tasks are done at once, here."""
    return Celery("eager", broker="memory://", set_as_current=False)


@pytest.mark.parametrize(
    ("state", "result", "status", "reason"),
    [
        ("FAILURE", BOOM, Status.ERRORED, "ValueError"),
        # Caught around the block.
        ("SUCCESS", "fine", Status.ERRORED, "KeyError"),
        ("REJECTED", Reject("no", requeue=False), Status.ERRORED, "Reject"),
        ("REJECTED", Reject("later", requeue=True), Status.OPEN, None),
        ("IGNORED", Ignore(), Status.OPEN, None),
        ("RETRY", Retry(exc=BOOM, when=5), Status.OPEN, None),
        (None, None, Status.OPEN, None),
    ],
)
def test_an_exception_ends_the_stream_as_the_task_ends(
    run: RunStreams, state: str | None, result: object, status: Status, reason: str | None
) -> None:
    attempt = Attempt(run)
    attempt.fails(KeyError("secret"), "a")
    assert run.describe("out").status is Status.OPEN

    attempt.ends(state, result)

    ended = run.describe("out")
    assert (ended.status, ended.error_reason) == (status, reason)
    assert leases() == []


@pytest.mark.parametrize(
    ("when", "least", "most"),
    [
        (7, 7, 7),
        (None, 0, 0),
        (-3, 0, 0),
        (lambda now: now + datetime.timedelta(hours=2), 7000, 7200),
        (lambda now: now.replace(tzinfo=None) + datetime.timedelta(hours=2), 7000, 7200),
        (datetime.datetime(2001, 1, 1, tzinfo=datetime.UTC), 0, 0),
    ],
)
def test_a_retry_says_when_the_next_attempt_is_due(when: object, least: float, most: float) -> None:
    if callable(when):
        when = when(datetime.datetime.now(datetime.UTC))

    outcome = outcome_of("RETRY", Retry(when=when))

    assert isinstance(outcome, Continued)
    assert least <= outcome.seconds <= most


def test_a_lease_over_a_retry_is_as_long_as_the_next_attempt_may_take_to_begin(run: RunStreams) -> None:
    renewed = []

    class Noting(RunStreams):
        """Which notes what leases it is told of."""

        def renew(self, name: str, lease_seconds: int) -> Stream:
            renewed.append(lease_seconds)
            return super().renew(name, lease_seconds)

    attempt = Attempt(Noting(run._service, run._run))
    attempt.fails(BOOM, "a", lease_seconds=30, queue_seconds=100)
    attempt.ends("RETRY", Retry(when=5.5))

    assert renewed[-1] == 136
    attempt.fails(BOOM, "a", lease_seconds=30)
    attempt.ends("RETRY", Retry(when=1_000_000))
    assert renewed[-1] == 86_400


def test_a_task_that_fails_before_it_appends_is_logged_because_nobody_can_be_told(
    run: RunStreams, caplog: pytest.LogCaptureFixture
) -> None:
    attempt = Attempt(run)
    attempt.fails(BOOM)
    attempt.ends("FAILURE", BOOM)

    assert [record.getMessage() for record in caplog.records if record.name == "tailrace.celery"] == [
        "a task has failed before it appended anything to out: its readers are not told"
    ]


def test_a_task_that_starts_anew_has_a_stream_from_the_beginning_and_can_tell_readers_why_it_fails(
    run: RunStreams,
) -> None:
    attempt = Attempt(run)
    attempt.fails(BOOM, attempts="restart", reason=str)
    attempt.ends("FAILURE", BOOM)

    assert run.describe("out").error_reason == "boom"


def test_a_block_in_which_nothing_is_appended_ends_without_a_stream(run: RunStreams) -> None:
    with Attempt(run).stream() as out:
        pass

    assert out.count == 0
    with pytest.raises(RunNotFoundError):
        run.describe("out")


class Away(RunStreams):
    """A run whose store is away when the end is to be told."""

    away = True

    def close(self, name: str, *, retention_seconds: int | None = None) -> Stream:
        self._check()
        return super().close(name, retention_seconds=retention_seconds)

    def error(self, name: str, reason: str, *, retention_seconds: int | None = None) -> Stream:
        self._check()
        return super().error(name, reason, retention_seconds=retention_seconds)

    def _check(self) -> None:
        if self.away:
            raise DurableStreamUnavailableError("the store is away")


def test_a_close_that_fails_is_the_failure_of_the_task_and_a_retry_makes_up_for_it(run: RunStreams) -> None:
    away = Away(run._service, run._run)
    attempt = Attempt(away)
    with pytest.raises(DurableStreamUnavailableError), attempt.stream() as out:
        out.append(["a"])
    attempt.ends("RETRY", Retry(when=0))
    assert run.describe("out").status is Status.OPEN
    away.away = False

    with Attempt(away).stream() as out:
        out.append(["a"])

    assert run.describe("out").status is Status.CLOSED
    assert said(run) == ["a"]


def test_an_end_as_errored_that_fails_is_logged_and_left_to_the_lease(
    run: RunStreams, caplog: pytest.LogCaptureFixture
) -> None:
    attempt = Attempt(Away(run._service, run._run))
    attempt.fails(BOOM, "a")
    attempt.ends("FAILURE", BOOM)

    assert [record.levelno for record in caplog.records if record.name == "tailrace.celery"] == [logging.ERROR]
    assert run.describe("out").status is Status.OPEN


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("boom", "boom"),
        ("", "ValueError"),
        ("a\x00b\x1bc\n", "a b c"),
        ("\ud800", "?"),
        ("x" * 500, "x" * 191),
    ],
)
def test_any_text_becomes_a_reason_that_the_store_takes(run: RunStreams, text: str, told: str) -> None:
    run.append("out", ["a"])

    assert run.error("out", reason_text(str, ValueError(text))).error_reason == told


def test_a_reason_that_can_not_be_put_into_words_is_the_name_of_the_class(caplog: pytest.LogCaptureFixture) -> None:
    def unable(_: BaseException) -> str:
        raise RuntimeError("of the application")

    assert reason_text(unable, BOOM) == "ValueError"
    assert len(caplog.records) == 1
    assert reason_text(unable, None) == "failed"


def test_an_eager_task_and_its_eager_retries_end_their_stream(app: Celery, run: RunStreams) -> None:
    @app.task(bind=True, autoretry_for=(ValueError,), max_retries=2, shared=False)
    def work(self: Task, name: str, failures: int) -> None:
        with task_stream(self, run, name, reason=str) as out:
            out.append(["a"])
            if self.request.retries < failures:
                raise BOOM

    assert work.apply(args=("soon", 1)).state == "SUCCESS"
    assert work.apply(args=("never", 9)).state == "FAILURE"

    assert [(each.stream_name, each.status, each.error_reason, each.total_items) for each in run.list()] == [
        ("never", Status.ERRORED, "boom", 1),
        ("soon", Status.CLOSED, None, 1),
    ]


def test_an_eager_task_that_is_to_propagate_its_exception_ends_its_stream(app: Celery, run: RunStreams) -> None:
    @app.task(bind=True, shared=False)
    def work(self: Task, name: str, retry: bool) -> None:
        with task_stream(self, run, name) as out:
            out.append(["a"])
            raise self.retry(exc=BOOM, countdown=0) if retry else BOOM

    with pytest.raises(ValueError):
        work.apply(args=("failed", False), throw=True)
    with pytest.raises(Retry):
        work.apply(args=("retried", True), throw=True)

    assert {each.stream_name: (each.status, each.error_reason) for each in run.list()} == {
        "failed": (Status.ERRORED, "ValueError"),
        "retried": (Status.OPEN, None),
    }
    assert leases() == []


def test_a_superseded_attempt_is_not_retried(app: Celery, run: RunStreams) -> None:
    attempts = []

    @app.task(bind=True, autoretry_for=(Exception,), shared=False)
    def work(self: Task) -> None:
        with task_stream(self, run, "out", attempts="restart") as out:
            attempts.append(out)
            with Attempt(run, task_id=self.request.id).stream(attempts="restart") as later:
                later.append(["b"])
            out.append(["a"])

    assert work.apply().state == "IGNORED"
    assert len(attempts) == 1
    assert said(run) == ["*", "*", "b"]


def test_a_task_that_is_called_by_hand_ends_its_stream_with_the_block(app: Celery, run: RunStreams) -> None:
    @app.task(bind=True, shared=False)
    def work(self: Task, name: str, fail: bool) -> None:
        with task_stream(self, run, name) as out:
            out.append([name])
            if fail:
                raise BOOM

    work("closed", fail=False)
    with pytest.raises(ValueError):
        work("errored", fail=True)

    assert {each.stream_name: each.error_reason for each in run.list()} == {"closed": None, "errored": "ValueError"}
    assert leases() == []


def test_two_streams_of_one_task_end_each_as_it_should(run: RunStreams) -> None:
    attempt = Attempt(run)
    attempt.fails(BOOM, "a")
    with task_stream(attempt.task, run, "other") as second:
        second.append(["b"])
    attempt.ends("FAILURE", BOOM)

    assert {each.stream_name: each.status for each in run.list()} == {"out": Status.ERRORED, "other": Status.CLOSED}


def test_a_stream_whose_settling_is_interrupted_leaves_the_others_settled(run: RunStreams) -> None:
    class Interrupted(RunStreams):
        """In which a soft time limit comes while readers are told."""

        def error(self, name: str, reason: str, *, retention_seconds: int | None = None) -> Stream:
            if name == "out":
                raise SoftTimeLimitExceeded
            return super().error(name, reason, retention_seconds=retention_seconds)

    attempt = Attempt(Interrupted(run._service, run._run))
    attempt.fails(BOOM, "a")
    with contextlib.suppress(ValueError), task_stream(attempt.task, attempt._run, "other") as second:
        second.append(["b"])
        raise BOOM
    with pytest.raises(AssertionError):
        # Celery logs what a receiver raises.
        attempt.ends("FAILURE", BOOM)

    assert {each.stream_name: each.status for each in run.list()} == {"out": Status.OPEN, "other": Status.ERRORED}
    assert leases() == []


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"lease_seconds": 0}, InvalidFieldsError),
        ({"retention_seconds": 0}, InvalidFieldsError),
        ({"queue_seconds": -1}, InvalidArgumentError),
        ({"identity": "x" * 176}, InvalidArgumentError),
        ({"identity": "x" * 176, "attempts": "restart"}, InvalidArgumentError),
    ],
)
def test_arguments_out_of_bounds_are_refused_before_anything_is_done(
    run: RunStreams, options: dict[str, object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        Attempt(run).stream(**options)


def test_a_function_is_no_task(run: RunStreams) -> None:
    with pytest.raises(InvalidTypeError, match="bind=True"):
        task_stream("question", run, "out")  # type: ignore[arg-type]


def test_a_sign_of_life_that_fails_is_tried_again_and_the_end_of_the_stream_ends_them() -> None:
    told = threading.Event()
    outcomes: list[Exception | None] = [
        DurableStreamUnavailableError("away"),
        None,
        DurableStreamUnavailableError("away"),
        StreamErroredError("lost"),
    ]

    def renew() -> None:
        outcome = outcomes.pop(0)
        if not outcomes:
            told.set()
        if outcome is not None:
            raise outcome

    renewal = Renewal(renew, 0.01)
    renewal.start()

    assert told.wait(10)
    renewal.stop()
    assert leases() == []
    assert outcomes == []


def test_the_end_of_signs_of_life_waits_for_the_one_under_way() -> None:
    begun, go_on, done = threading.Event(), threading.Event(), []

    def renew() -> None:
        begun.set()
        assert go_on.wait(10)
        done.append("renewed")

    renewal = Renewal(renew, 0.01)
    renewal.start()
    assert begun.wait(10)
    threading.Timer(0.1, go_on.set).start()
    renewal.stop()

    assert done == ["renewed"]
    renewal.stop()


def test_a_stream_whose_lease_lapsed_in_the_middle_refuses_what_follows(workflows: Workflows, run: RunStreams) -> None:
    attempt = Attempt(run)
    out = attempt.stream(lease_seconds=1)
    # As in a process that was stopped for longer than its lease: nothing renews it.
    out.append(["a"])
    time.sleep(1.1)
    workflows.sweep()

    with pytest.raises(StreamErroredError):
        out.append(["b"])
    assert run.describe("out").error_reason == "producer lost"


def test_a_block_that_ends_after_its_lease_lapsed_does_not_pass_for_one_that_closed_the_stream(
    app: Celery, run: RunStreams
) -> None:
    @app.task(bind=True, shared=False)
    def work(self: Task) -> None:
        with task_stream(self, run, "out") as out:
            out.append(["a"])
            # As a sweep does it.
            run.error("out", "producer lost")

    done = work.apply()

    assert (done.state, type(done.result)) == ("FAILURE", StreamErroredError)
    assert run.describe("out").error_reason == "producer lost"
    assert leases() == []


def test_what_is_no_end_of_a_task_decides_nothing() -> None:
    assert outcome_of("FAILURE", BOOM) == Failed(BOOM)
    assert outcome_of("STARTED", None) is None
