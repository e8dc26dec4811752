"""A URL of each database leads to its runs, in both colours."""

import asyncio

from tests.workflow.places import Place

from tailrace import workflow
from tailrace.workflow import Status, aio


def test_runs_are_written_and_followed(place: Place) -> None:
    with workflow.connect(place.url) as workflows:
        run = workflows.run("order/7", "r1")
        run.append("s", ["a"])
        with run.iterate("s") as items:
            assert next(items).payload == "a"
            for _ in range(2):
                emitter = run.emitter("task-1")
                emitter.append("s", ["b", {"c": "é"}])
                emitter.close("s")
            assert [item.payload for item in items] == ["b", {"c": "é"}]
            assert items.stream is not None
            assert items.stream.status is Status.CLOSED
        assert workflows.sweep().done
        assert workflows.delete("order/7", "r1")


def test_runs_are_written_and_followed_by_coroutines(place: Place) -> None:
    async def do() -> None:
        async with await aio.connect(place.url) as workflows:
            run = workflows.run("order/7", "r2")
            await run.append("s", ["a"])
            items = run.iterate("s", wait_seconds=60)
            assert (await anext(items)).payload == "a"
            rest = asyncio.ensure_future(anext(items))
            await run.emitter("task-1").append("s", ["b"])
            assert (await rest).payload == "b"
            assert await workflows.delete("order/7", "r2")

    asyncio.run(do())
