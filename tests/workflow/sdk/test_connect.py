"""What ``connect`` takes, what travels with every request, and what is never shown."""

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.workflow.sdk.conftest import TOKEN
from tests.workflow.sdk.recorder import Recorder

from tailrace import workflow
from tailrace.errors import InvalidArgumentError, InvalidTypeError, StoreUnusableError
from tailrace.records import CLOSED, DurableStreamRecord
from tailrace.workflow import RunStreams, Workflows, aio
from tailrace.workflow.settings import WorkflowSettings


@pytest.fixture(params=["blocking", "awaited"])
def connect(request: pytest.FixtureRequest) -> Callable[..., object]:
    if request.param == "blocking":
        return workflow.connect
    return lambda *arguments, **options: asyncio.run(aio.connect(*arguments, **options))


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    with Recorder() as recorder:
        yield recorder


@pytest.mark.parametrize(
    ("url", "options", "error"),
    [
        (7, {}, InvalidTypeError),
        ("nonsense", {}, InvalidArgumentError),
        ("memory://", {}, InvalidArgumentError),
        ("https://", {}, InvalidArgumentError),
        ("https://host", {"colour": "red"}, InvalidArgumentError),
        ("https://host", {"create": True}, InvalidArgumentError),
        ("https://host", {"settings": WorkflowSettings()}, InvalidArgumentError),
        ("https://host", {"token": 7}, InvalidTypeError),
        ("https://host", {"token": "two words"}, InvalidArgumentError),
        ("https://host", {"timeout": 0}, InvalidArgumentError),
        ("https://host", {"namespace": "n" * 129}, workflow.InvalidFieldsError),
        ("https://host", {"namespace": 7}, InvalidTypeError),
        ("sqlite:///never.db", {"token": "t"}, InvalidArgumentError),
        ("sqlite:///never.db", {"settings": {}}, InvalidTypeError),
        ("sqlite:///never.db", {"create": False}, StoreUnusableError),
    ],
)
def test_what_makes_no_sense_is_refused_and_makes_nothing(
    connect: Callable[..., object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    url: Any,
    options: dict[str, Any],
    error: type[Exception],
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error):
        connect(url, **options)
    assert list(tmp_path.iterdir()) == []


def test_every_request_says_who_asks_in_which_namespace_and_which_contract(recorder: Recorder) -> None:
    async def awaited() -> None:
        async with await aio.connect(recorder.url, namespace="Team-A", token=TOKEN) as workflows:
            with pytest.raises(workflow.NamespaceNotFoundError):
                await workflows.run("w", "r").append("s", [1])

    with workflow.connect(recorder.url, namespace="Team-A", token=TOKEN) as workflows:
        with pytest.raises(workflow.NamespaceNotFoundError):
            workflows.run("w", "r").append("s", [1])
    asyncio.run(awaited())
    assert len(recorder.seen) == 2
    for headers in recorder.seen:
        assert headers["authorization"] == f"Bearer {TOKEN}"
        assert headers["x-namespace"] == "team-a"
        assert headers["x-durable-workflow-control-plane-version"] == "2"
        assert headers["content-type"] == "application/json"


def test_without_a_token_the_environment_is_asked(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAILRACE_KEY", "from-the-environment")
    with workflow.connect(recorder.url) as workflows:
        with pytest.raises(workflow.NamespaceNotFoundError):
            workflows.run("w", "r").list()
    assert recorder.seen[0]["authorization"] == "Bearer from-the-environment"
    assert "content-type" not in recorder.seen[0]


def test_a_token_is_never_shown(remote: Workflows) -> None:
    run = remote.run("w", "r")
    assert TOKEN not in f"{remote!r} {run!r} {run.iterate('s')!r} {run.emitter('task')!r} {vars(remote)!r}"


def test_namespaces_of_a_database_do_not_know_each_other(db: str) -> None:
    with workflow.connect(db, namespace="A") as first, workflow.connect(db, namespace="b") as second:
        first.run("w", "r").append("s", [1])
        with pytest.raises(workflow.RunNotFoundError):
            second.run("w", "r").list()
        # The case of its letters does not count.
        with workflow.connect(db, namespace="a") as again:
            assert len(again.run("w", "r").list()) == 1


def test_settings_say_which_runs_there_are(db: str) -> None:
    with workflow.connect(db, settings=WorkflowSettings(runs="registered")) as workflows:
        with pytest.raises(workflow.RunNotFoundError):
            workflows.run("w", "r").append("s", [1])
        workflows.start("w", "r")
        assert workflows.run("w", "r").append("s", [1]).accepted == 1


def test_a_database_is_swept_where_it_is_and_a_server_by_itself(embedded: Workflows, remote: Workflows) -> None:
    assert embedded.sweep().done
    with pytest.raises(InvalidArgumentError, match="database"):
        remote.sweep()


def test_a_stream_is_a_topic_where_its_database_is(embedded: Workflows, remote: Workflows) -> None:
    run = embedded.run("w", "r")
    run.append("s", [{"n": 1}])
    topic = run.topic("s")
    topic.append(b"2")
    run.close("s")
    with topic.subscribe_from_beginning() as subscription:
        records = [subscription.receive(30) for _ in range(3)]
    payloads = [record.payload if isinstance(record, DurableStreamRecord) else record for record in records]
    assert payloads == [b'{"n":1}', b"2", CLOSED]
    with pytest.raises(InvalidArgumentError):
        remote.run("w", "r").topic("s")


@pytest.mark.parametrize("ids", [("", "r"), ("w", ""), ("w" * 192, "r"), ("w", "a\nb"), (7, "r"), ("w", None)])
def test_ids_that_no_run_can_have_are_refused(remote: Workflows, ids: tuple[Any, Any]) -> None:
    with pytest.raises(
        InvalidArgumentError if not all(isinstance(i, str) for i in ids) else workflow.InvalidFieldsError
    ):
        remote.run(*ids)


@pytest.mark.parametrize("call", ["workflow.connect({url})", "asyncio.run(workflow.aio.connect({url}))"])
def test_a_missing_driver_is_one_sentence(call: str) -> None:
    # In a process of its own: nobody else is to meet the modules that were half imported.
    lines = [
        "import asyncio, sys, tailrace.errors",
        "from tailrace import workflow",
        "import tailrace.workflow.aio",
        "sys.modules['h11'] = None",
        "try:",
        f"    {call.format(url=repr('http://host'))}",
        "except tailrace.errors.StoreUnusableError as exc:",
        "    print(exc)",
    ]
    ended = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, check=True, timeout=60)
    assert ended.stdout == b"http:// needs the package h11: pip install 'tailrace[client]'\n"


def test_two_runs_have_streams_of_the_same_name(workflows: Workflows) -> None:
    runs = [workflows.run("w/1", "r"), workflows.run("w", "1/r"), workflows.run("w%2F1", "r")]
    for number, run in enumerate(runs):
        run.append("s", [number])
    for number, run in enumerate(runs):
        assert isinstance(run, RunStreams)
        assert [item.payload for item in run.subscribe("s").items] == [number]
