"""The awaited mirror: the same outcomes, and what a task that is cancelled leaves behind."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from tests.http.doors.serving import Served

from tailrace import workflow
from tailrace.errors import InvalidArgumentError
from tailrace.records import CLOSED, DurableStreamRecord
from tailrace.workflow import Status, Workflows, aio

PATIENCE = 30.0

Do = Callable[[aio.Workflows], Awaitable[object]]
Perform = Callable[[Do], None]


@pytest.fixture(params=["embedded", "remote"])
def perform(request: pytest.FixtureRequest, db: str) -> Perform:
    """Do something with runs, in a loop of its own."""
    url = db if request.param == "embedded" else request.getfixturevalue("server").url

    def performing(do: Do) -> None:
        async def doing() -> None:
            async with await aio.connect(url) as workflows:
                await asyncio.wait_for(do(workflows), PATIENCE)

        asyncio.run(doing())

    return performing


def test_all_operations_do_what_they_do_in_a_thread(perform: Perform) -> None:
    async def do(workflows: aio.Workflows) -> None:
        started = await workflows.start("order/7", "r1", workflow_type="Order")
        assert await workflows.describe("order/7", "r1") == await workflows.describe("order/7") == started
        run = workflows.run("order/7", "r1")
        appended = await run.append("s", ["a", {"b": 1}], keys=["k1", "k2"])
        assert (list(appended.offsets), appended.accepted) == ([0, 1], 2)
        assert (await run.append("s", ["a"], keys=["k1"])).deduped == 1
        page = await run.subscribe("s")
        assert ([item.payload for item in page.items], page.next_offset) == (["a", {"b": 1}], 2)
        assert (await run.renew("s", 60)).status is Status.OPEN
        assert (await run.close("s")).status is Status.CLOSED
        await run.append("t", [1])
        assert (await run.error("t", "no luck")).error_reason == "no luck"
        assert [stream.stream_name for stream in await run.list()] == ["s", "t"]
        assert (await run.describe("t")).status is Status.ERRORED
        with pytest.raises(workflow.StreamClosedError):
            await run.append("s", [1])
        assert (await workflows.end("order/7", "r1")).ended_at is not None
        assert await workflows.delete("order/7", "r1")
        assert not await workflows.delete("order/7", "r1")
        with pytest.raises(workflow.RunNotFoundError):
            await run.list()

    perform(do)


def test_it_gives_what_comes_until_the_end(perform: Perform) -> None:
    async def do(workflows: aio.Workflows) -> None:
        run = workflows.run("order/7", "r1")
        await run.append("s", [0])
        items = run.iterate("s", wait_seconds=60)
        assert (await anext(items)).payload == 0
        rest = asyncio.ensure_future(_all(items))
        await run.append("s", [1, 2])
        await run.close("s")
        assert await rest == [1, 2]
        assert items.next_offset == 3
        assert items.stream is not None
        assert items.stream.status is Status.CLOSED

    perform(do)


def test_a_task_that_is_cancelled_while_it_waits_has_lost_nothing(perform: Perform) -> None:
    async def do(workflows: aio.Workflows) -> None:
        run = workflows.run("order/7", "r1")
        await run.append("s", [0])
        items = run.iterate("s", wait_seconds=60)
        await anext(items)
        for number in range(1, 6):
            waiting = asyncio.ensure_future(anext(items))
            # Cancelled wherever it has come to by then: before its request, in it, or with an item on its way.
            for _ in range(number):
                await asyncio.sleep(0)
            appending = asyncio.ensure_future(run.append("s", [number]))
            waiting.cancel()
            await appending
            given = await asyncio.gather(waiting, return_exceptions=True)
            if isinstance(given[0], asyncio.CancelledError):
                given = [await anext(items)]
            assert isinstance(given[0], workflow.Item)
            assert (given[0].payload, items.next_offset) == (number, number + 1)

    perform(do)


def test_closed_by_another_task_it_ends(perform: Perform) -> None:
    async def do(workflows: aio.Workflows) -> None:
        run = workflows.run("order/7", "r1")
        await run.append("s", [0])
        async with run.iterate("s", wait_seconds=60) as items:
            await anext(items)
            waiting = asyncio.ensure_future(_all(items))
            await asyncio.sleep(0)
            items.close()
            assert await waiting == []
            assert items.next_offset == 1

    perform(do)


def test_a_stream_that_is_not_there_yet_is_waited_for_if_asked(perform: Perform) -> None:
    async def do(workflows: aio.Workflows) -> None:
        run = workflows.run("order/7", "r1")
        with pytest.raises(workflow.RunNotFoundError):
            await anext(run.iterate("s"))
        items = run.iterate("s", opening_budget=3600)
        waiting = asyncio.ensure_future(anext(items))
        await asyncio.sleep(0)
        await run.append("s", ["here"])
        assert (await waiting).payload == "here"

    perform(do)


def test_many_follow_at_once(perform: Perform) -> None:
    async def do(workflows: aio.Workflows) -> None:
        run = workflows.run("order/7", "r1")
        await run.append("s", [0])
        followers = [asyncio.ensure_future(_all(run.iterate("s", wait_seconds=60))) for _ in range(50)]
        await run.append("s", [1])
        await run.close("s")
        assert await asyncio.gather(*followers) == [[0, 1]] * 50

    perform(do)


def test_a_stream_is_a_topic_where_its_database_is(db: str) -> None:
    async def do() -> None:
        async with await aio.connect(db) as workflows:
            run = workflows.run("order/7", "r1")
            topic = run.topic("s")
            await topic.append(b'{"n": 1}')
            async with await topic.subscribe_from_beginning() as subscription:
                record = await subscription.receive(PATIENCE)
                assert isinstance(record, DurableStreamRecord)
                assert record.payload == b'{"n": 1}'
                await topic.as_producer().append(b"2")
                await topic.append_many([b"3"])
                await topic.seal()
                cursor = record.cursor
            async with await topic.subscribe_from_cursor(cursor) as subscription:
                rest = [await subscription.receive(PATIENCE) for _ in range(3)]
            assert [getattr(record, "payload", record) for record in rest] == [b"2", b"3", CLOSED]

    asyncio.run(do())


def test_and_not_where_only_a_server_is(server: Served) -> None:
    async def do() -> None:
        async with await aio.connect(server.url) as workflows:
            with pytest.raises(InvalidArgumentError, match="where its database is"):
                workflows.run("order/7", "r1").topic("s")

    asyncio.run(do())


def test_a_service_serves_several_loops(server: Served, embedded: Workflows) -> None:
    async def connect() -> aio.Workflows:
        return await aio.connect(server.url)

    async def append(workflows: aio.Workflows, number: int) -> None:
        await workflows.run("order/7", "r1").append("s", [number])

    with asyncio.Runner() as first, asyncio.Runner() as second:
        workflows = first.run(connect())
        for number, runner in enumerate((first, second, first, second)):
            runner.run(append(workflows, number))
        second.run(workflows.close())
        # What a loop is asked to do it does when it runs.
        first.run(asyncio.sleep(0))
        second.run(asyncio.sleep(0))
    assert [item.payload for item in embedded.run("order/7", "r1").subscribe("s").items] == [0, 1, 2, 3]


async def _all(items: aio.Iteration) -> list[object]:
    return [item.payload async for item in items]
