"""The answers of examples/fastapi-sqlite, without its processes: what several attempts write is one text."""

import asyncio
import importlib
import sqlite3
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.examples.running import EXAMPLES

from tailrace.workflow import IdempotencyConflictError, aio

JOB = "11111111-2222-3333-4444-555555555555"


class Parts:
    """Modules of the example, and a place for its files."""

    def __init__(self, data: Path) -> None:
        settings = importlib.import_module("chat.settings")
        self.writing = importlib.import_module("chat.writing")
        self.worker = importlib.import_module("chat.worker")
        self.settings = settings.Settings(data=data, lease=1.0, pause=0.0)
        self.jobs = importlib.import_module("chat.jobs").Jobs(self.settings.jobs)

    def run(self, scene: Any) -> Any:
        """Run a coroutine function of the workflows."""

        async def main() -> Any:
            async with await aio.connect(self.settings.streams) as workflows, asyncio.timeout(60):
                return await scene(workflows)

        return asyncio.run(main())


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Parts]:
    monkeypatch.syspath_prepend(str(EXAMPLES / "fastapi-sqlite"))
    yield Parts(tmp_path)
    # Another example may have modules of the same name.
    for name in [name for name in sys.modules if name.partition(".")[0] == "chat"]:
        del sys.modules[name]


async def items_of(workflows: aio.Workflows) -> list[Any]:
    page = await workflows.run("chat", JOB).subscribe("answer", max_items=500)
    assert [item.idempotency_key for item in page.items] == [str(n) for n in range(len(page.items))]
    return [item.payload for item in page.items]


def test_an_attempt_goes_on_behind_what_is_stored(parts: Parts) -> None:
    async def scene(workflows: aio.Workflows) -> None:
        first = parts.writing.Answer(workflows.run("chat", JOB))
        await first.catch_up()
        await first.write("a ")
        second = parts.writing.Answer(workflows.run("chat", JOB))
        await second.catch_up()
        assert second.text == "a "
        await second.write("b ")
        assert [item.get("text") for item in await items_of(workflows)] == [None, "a ", "b "]

    parts.run(scene)


def test_an_append_that_is_repeated_is_there_once(parts: Parts) -> None:
    """As when the worker dies after the store has taken the piece, and the next one is asked to write the same."""

    async def scene(workflows: aio.Workflows) -> None:
        first = parts.writing.Answer(workflows.run("chat", JOB))
        await first.catch_up()
        second = parts.writing.Answer(workflows.run("chat", JOB))
        await second.catch_up()
        await first.write("a ")
        await second.write("a ")
        await second.write("b ")
        assert [item.get("text") for item in await items_of(workflows)] == [None, "a ", "b "]

    parts.run(scene)


def test_of_two_that_write_at_once_one_gives_up(parts: Parts) -> None:
    async def scene(workflows: aio.Workflows) -> None:
        first = parts.writing.Answer(workflows.run("chat", JOB))
        await first.catch_up()
        second = parts.writing.Answer(workflows.run("chat", JOB))
        await second.catch_up()
        await second.write("b ")
        with pytest.raises(IdempotencyConflictError):
            await first.write("a ")
        assert [item.get("text") for item in await items_of(workflows)] == [None, "b "]

    parts.run(scene)


def test_workers_whose_models_disagree_leave_one_text_in_stream_and_row(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both believe that the job is theirs, from beginning to end, and the model says something else to each."""
    told = iter("ABCDEFGH")

    async def continued(prompt: str, so_far: str, *, pause: float) -> AsyncIterator[str]:
        name = next(told)
        for number in range(so_far.count(" "), 30):
            await asyncio.sleep(0.001)
            yield f"{name}{number} "

    monkeypatch.setattr(parts.worker.model, "continued", continued)
    parts.jobs.ask(JOB, "a question")
    job = parts.jobs.take("both", 60.0)

    async def scene(workflows: aio.Workflows) -> None:
        workers = [parts.worker.Worker(parts.settings, parts.jobs, workflows) for _ in range(2)]
        for worker in workers:
            worker._name = "both"
        while parts.jobs.get(JOB).state == "waiting":
            await asyncio.gather(*(worker.attempt(job) for worker in workers))
        row = parts.jobs.get(JOB)
        assert row.answer == "".join(item.get("text", "") for item in await items_of(workflows))
        assert [word[1:] for word in row.answer.split()] == [str(number) for number in range(30)]

    parts.run(scene)


def test_a_model_that_always_fails_ends_the_stream_with_a_reason(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    async def continued(prompt: str, so_far: str, *, pause: float) -> AsyncIterator[str]:
        raise OSError("the provider is away")
        yield ""

    monkeypatch.setattr(parts.worker.model, "continued", continued)
    parts.jobs.ask(JOB, "a question")

    async def scene(workflows: aio.Workflows) -> None:
        worker = parts.worker.Worker(parts.settings, parts.jobs, workflows)
        while parts.jobs.get(JOB).state == "waiting":
            job = parts.jobs.take(worker._name, 60.0)
            await worker.attempt(job)
            # Without the pause before the next attempt.
            with closing(sqlite3.connect(parts.settings.jobs)) as table, table:
                table.execute("UPDATE jobs SET free_at = 0")
        row = parts.jobs.get(JOB)
        assert row.state == "failed"
        assert row.attempts == parts.worker.ATTEMPTS + 1
        stream = await workflows.run("chat", JOB).describe("answer")
        assert stream.error_reason == row.error

    parts.run(scene)


def test_a_worker_that_is_told_to_end_gives_its_job_back(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = asyncio.Event()

    async def continued(prompt: str, so_far: str, *, pause: float) -> AsyncIterator[str]:
        yield "a "
        begun.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(parts.worker.model, "continued", continued)
    parts.jobs.ask(JOB, "a question")

    async def scene(workflows: aio.Workflows) -> None:
        working = asyncio.ensure_future(parts.worker.Worker(parts.settings, parts.jobs, workflows).run())
        await begun.wait()
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
        job = parts.jobs.take("the next one", 60.0)
        assert job is not None
        assert job.attempts == 1

    parts.run(scene)


def test_a_question_that_is_sent_again_is_one_question(parts: Parts) -> None:
    assert parts.jobs.ask(JOB, "a question") == parts.jobs.ask(JOB, "a question")
    assert parts.jobs.take("somebody", 60.0).id == JOB
    assert parts.jobs.take("somebody", 60.0) is None


def test_a_lease_that_nobody_renews_ends(parts: Parts) -> None:
    parts.jobs.ask(JOB, "a question")
    assert parts.jobs.take("first", 0.0) is not None
    assert parts.jobs.take("second", 60.0) is not None
    assert not parts.jobs.keep(JOB, "first", 60.0)
    assert parts.jobs.keep(JOB, "second", 60.0)
