"""An emitter appends nothing twice, however often its work is done again, in both colours."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from tests.http.doors.serving import Served
from tests.workflow.sdk.conftest import TOKEN

from tailrace import workflow
from tailrace.errors import InvalidArgumentError, InvalidTypeError
from tailrace.workflow import RunStreams, Status, aio

Emit = Callable[..., Any]


class Blocking:
    """An emitter that is called."""

    def __init__(self, run: RunStreams, identity: str, lease_seconds: int | None) -> None:
        self._emitter = run.emitter(identity, lease_seconds=lease_seconds)

    def __call__(self, command: str, *arguments: object, **options: object) -> Any:
        return getattr(self._emitter, command)(*arguments, **options)


class Awaited:
    """One that is awaited, in a loop of its own."""

    def __init__(self, runner: asyncio.Runner, workflows: aio.Workflows, identity: str, lease: int | None) -> None:
        self._runner = runner
        self._emitter = workflows.run("order/7", "run 1").emitter(identity, lease_seconds=lease)

    def __call__(self, command: str, *arguments: object, **options: object) -> Any:
        async def call() -> Any:
            return await getattr(self._emitter, command)(*arguments, **options)

        return self._runner.run(call())


@pytest.fixture
def run(embedded: workflow.Workflows) -> RunStreams:
    return embedded.run("order/7", "run 1")


@pytest.fixture(params=["embedded", "aio over HTTP"])
def attempt(request: pytest.FixtureRequest, run: RunStreams) -> Iterator[Callable[..., Emit]]:
    """Begin an attempt at a piece of work."""
    if request.param == "embedded":
        yield lambda identity="task-1", lease_seconds=None: Blocking(run, identity, lease_seconds)
        return
    server = request.getfixturevalue("server")
    assert isinstance(server, Served)
    with asyncio.Runner() as runner:
        workflows = runner.run(aio.connect(server.url, token=TOKEN))
        yield lambda identity="task-1", lease_seconds=None: Awaited(runner, workflows, identity, lease_seconds)
        runner.run(workflows.close())


def payloads(run: RunStreams, stream: str = "s") -> Sequence[object]:
    return [item.payload for item in run.subscribe(stream, max_items=500).items]


def test_keys_are_identity_ordinal_and_index(run: RunStreams, attempt: Callable[..., Emit]) -> None:
    emit = attempt("task-1")
    emit("append", "s", ["a", "b"])
    emit("append", "t", ["c"])
    emit("close", "t")
    emit("append", "s", ["d"])
    keys = [item.idempotency_key for name in ("s", "t") for item in run.subscribe(name).items]
    assert keys == ["task-1:0:0", "task-1:0:1", "task-1:3:0", "task-1:1:0"]
    first = run.subscribe("s").items[0]
    assert (first.origin, first.origin_reference) == ("external", "task-1")


@pytest.mark.parametrize("died_after", range(4))
def test_a_repeated_attempt_appends_nothing_twice_and_goes_on(
    run: RunStreams, attempt: Callable[..., Emit], died_after: int
) -> None:
    commands = [("append", "s", ["a", "b"]), ("append", "s", [{"x": 1, "y": 2}]), ("close", "s")]
    first = attempt()
    for command in commands[:died_after]:
        first(*command)
    again = attempt()
    outcomes = [again(*command) for command in commands]
    assert [list(outcome.offsets) for outcome in outcomes[:2]] == [[0, 1], [2]]
    assert outcomes[2].status is Status.CLOSED
    assert payloads(run) == ["a", "b", {"x": 1, "y": 2}]


def test_equal_dicts_are_the_same_payload_in_whatever_order_they_were_built(
    run: RunStreams, attempt: Callable[..., Emit]
) -> None:
    attempt()("append", "s", [{"a": 1, "b": 2}])
    assert attempt()("append", "s", [{"b": 2, "a": 1}]).deduped == 1


def test_work_that_is_not_repeatable_is_told(run: RunStreams, attempt: Callable[..., Emit]) -> None:
    attempt()("append", "s", ["a"])
    with pytest.raises(workflow.IdempotencyConflictError):
        attempt()("append", "s", ["b"])
    assert payloads(run) == ["a"]


def test_something_new_after_the_end_is_refused(run: RunStreams, attempt: Callable[..., Emit]) -> None:
    emit = attempt()
    emit("append", "s", ["a"])
    emit("error", "s", "gave up")
    again = attempt()
    again("append", "s", ["a"])
    with pytest.raises(workflow.StreamErroredError):
        again("append", "s", ["b"])


def test_a_command_that_failed_has_its_number_again(run: RunStreams, attempt: Callable[..., Emit]) -> None:
    emit = attempt()
    emit("append", "s", ["a"])
    with pytest.raises(workflow.StreamFullError):
        emit("append", "s", ["b"], max_pending_items=1)
    run.subscribe("s")
    emit("append", "s", ["b"])
    # An attempt that has met no full stream.
    again = attempt()
    again("append", "s", ["a"])
    again("append", "s", ["b"])
    assert payloads(run) == ["a", "b"]


def test_pieces_of_work_do_not_know_each_other(run: RunStreams, attempt: Callable[..., Emit]) -> None:
    attempt("task-1")("append", "s", ["a"])
    attempt("task-1:0")("append", "s", ["a"])
    assert payloads(run) == ["a", "a"]


def test_a_lease_goes_with_every_append_and_can_be_renewed(run: RunStreams, attempt: Callable[..., Emit]) -> None:
    emit = attempt(lease_seconds=3600)
    emit("append", "s", ["a"])
    assert emit("renew", "s").status is Status.OPEN
    with pytest.raises(InvalidArgumentError):
        attempt()("renew", "s")


@pytest.mark.parametrize(
    ("identity", "error"), [("", InvalidArgumentError), ("x" * 176, InvalidArgumentError), (7, InvalidTypeError)]
)
def test_an_identity_must_leave_room_for_its_numbers(run: RunStreams, identity: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        run.emitter(identity)


def test_the_longest_identity_makes_keys_that_are_taken(run: RunStreams) -> None:
    emitter = run.emitter("x" * 175)
    emitter._script.ordinal = 99_999_999_999
    assert emitter.append("s", list(range(500))).accepted == 500


def test_a_lease_out_of_bounds_is_refused_at_once(run: RunStreams) -> None:
    with pytest.raises(workflow.InvalidFieldsError):
        run.emitter("task-1", lease_seconds=0)


def test_an_error_without_a_reason_is_no_close(run: RunStreams) -> None:
    emitter = run.emitter("task-1")
    emitter.append("s", ["a"])
    for reason in (None, ""):
        with pytest.raises(InvalidArgumentError if reason is None else workflow.InvalidFieldsError):
            emitter.error("s", reason)  # type: ignore[arg-type]
    assert run.describe("s").status is Status.OPEN


def test_commands_of_one_emitter_do_not_overlap(server: Served, run: RunStreams) -> None:
    async def both() -> list[Any]:
        async with await aio.connect(server.url) as workflows:
            emitter = workflows.run("order/7", "run 1").emitter("task-1")
            first, second = emitter.append("s", ["a"]), emitter.append("s", ["b"])
            return await asyncio.gather(first, second, return_exceptions=True)

    outcomes = asyncio.run(both())
    assert outcomes[0].accepted == 1
    assert isinstance(outcomes[1], InvalidArgumentError)
    assert payloads(run) == ["a"]
