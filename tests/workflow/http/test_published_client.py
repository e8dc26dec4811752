"""The published client drives every operation, unchanged, on every database."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from durable_workflow import WorkflowStreamAppendItem as Item
from durable_workflow.external_storage import LocalFilesystemExternalStorage
from tests.polling import until
from tests.workflow.http.api import Api, a_run, serving
from tests.workflow.http.published import published


@pytest.fixture(scope="module")
def api(database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    folder: Path = tmp_path_factory.mktemp("published")
    with serving(folder, store=database) as api:
        yield api


def ids() -> tuple[str, str, str]:
    """Return the ids of a stream that nobody else uses; those of the workflow hold a slash."""
    return "orders/7", a_run().rpartition("/")[2], "tokens"


async def items_of(client: Any, stream: tuple[str, str, str], **options: Any) -> list[Any]:
    return [item async for item in client.iter_workflow_stream(*stream, **options)]


def test_it_asks_what_the_server_can_do_once(api: Api) -> None:
    async def use() -> None:
        async with published(api) as (client, sent):
            info = await client.get_cluster_info()
            assert info["capabilities"]["workflow_streams"] is True
            contract = info["workflow_streams_contract"]
            assert (contract["schema"], contract["version"]) == ("durable-workflow.v2.workflow-streams.contract", 1)
        async with published(api) as (client, sent):
            stream = ids()
            for value in range(2):
                await client.append_workflow_stream(*stream, [Item(value)])
            assert [each.path for each in sent].count("/api/cluster/info") == 1
            assert {each.status for each in sent} == {200}

    asyncio.run(use())


def test_what_it_appends_it_reads_again_up_to_the_end(api: Api) -> None:
    values = [None, True, 7, 1.5, "hi \U0001f30a", b"\x00\xff", ["a", 1], {"percent": 50, "x": {"y": []}}]

    async def use() -> None:
        stream = ids()
        async with published(api) as (client, _):
            done = await client.append_workflow_stream(*stream, [Item(value, item_type="t") for value in values])
            assert done.accepted_offsets == list(range(len(values)))
            assert (done.accepted_count, done.deduplicated_count) == (len(values), 0)
            closed = await client.close_workflow_stream(*stream, retention_seconds=60)
            assert (closed.status, closed.terminal, closed.retention_seconds) == ("closed", True, 60)
            got = await items_of(client, stream, max_items=3)
            assert [item.payload for item in got] == values
            assert [item.offset for item in got] == list(range(len(values)))
            assert {(item.item_type, item.payload_codec, item.origin) for item in got} == {
                ("t", "avro", "workflow_command")
            }

    asyncio.run(use())


def test_a_retry_appends_nothing_twice(api: Api) -> None:
    async def use() -> None:
        stream = ids()
        async with published(api) as (client, _):
            batch = [Item(value, idempotency_key=f"k{value}") for value in range(3)]
            await client.append_workflow_stream(*stream, batch)
            again = await client.append_workflow_stream(*stream, [*batch, Item(3, idempotency_key="k3")])
            assert again.accepted_offsets == [0, 1, 2, 3]
            assert (again.accepted_count, again.deduplicated_count) == (1, 3)

    asyncio.run(use())


def test_a_batch_that_is_refused_is_sent_three_times_and_leaves_nothing_behind(api: Api) -> None:
    async def use() -> None:
        stream = ids()
        async with published(api) as (client, sent):
            await client.append_workflow_stream(*stream, [Item(0), Item(1)])
            sent.clear()
            with pytest.raises(Exception) as caught:
                await client.append_workflow_stream(*stream, [Item(2), Item(3)], max_pending_items=3)
            assert (caught.value.status, caught.value.reason()) == (429, "stream_full")
            assert [each.status for each in sent] == [429] * 3
            assert len({each.body for each in sent}) == 1
            assert (await client.describe_workflow_stream(*stream)).total_items == 2
            await client.subscribe_workflow_stream(*stream)
            done = await client.append_workflow_stream(*stream, [Item(2), Item(3)], max_pending_items=3)
            assert done.accepted_offsets == [2, 3]

    asyncio.run(use())


def test_an_append_ends_its_long_poll(api: Api) -> None:
    async def use() -> None:
        stream = ids()
        async with published(api) as (client, _):
            await client.append_workflow_stream(*stream, [Item(0)])
            reading = asyncio.ensure_future(client.subscribe_workflow_stream(*stream, from_offset=1, wait_seconds=60))
            await waits(api, 1)
            await client.append_workflow_stream(*stream, [Item("woken")])
            page = await asyncio.wait_for(reading, 20)
            assert [item.payload for item in page.items] == ["woken"]
            assert (page.next_offset, page.terminal) == (2, False)

    asyncio.run(use())


def test_it_follows_a_stream_while_it_is_written(api: Api) -> None:
    async def use() -> None:
        stream = ids()
        async with published(api) as (client, _):
            await client.append_workflow_stream(*stream, [Item(0)])
            following = asyncio.ensure_future(items_of(client, stream, wait_seconds=30))
            await waits(api, 1)
            await client.append_workflow_stream(*stream, [Item(1), Item(2)])
            await client.close_workflow_stream(*stream)
            assert [item.payload for item in await asyncio.wait_for(following, 20)] == [0, 1, 2]

    asyncio.run(use())


def test_a_cancelled_long_poll_leaves_nobody_waiting(api: Api) -> None:
    async def use() -> None:
        stream = ids()
        async with published(api) as (client, _):
            await client.append_workflow_stream(*stream, [Item(0)])
            cancel = asyncio.Event()
            reading = asyncio.ensure_future(
                client.subscribe_workflow_stream(*stream, from_offset=1, wait_seconds=60, cancel_event=cancel)
            )
            await waits(api, 1)
            cancel.set()
            with pytest.raises(asyncio.CancelledError):
                await reading
            await waits(api, 0)

    asyncio.run(use())


def test_a_list_shows_what_each_stream_has_come_to(api: Api) -> None:
    async def use() -> None:
        workflow, run, _ = ids()
        async with published(api) as (client, _):
            for name in ("b", "a", "B"):
                await client.append_workflow_stream(workflow, run, name, [Item(name)])
            ended = await client.close_workflow_stream(workflow, run, "a", error_reason="no more")
            assert (ended.status, ended.error_reason) == ("errored", "no more")
            rows = await client.list_workflow_streams(workflow, run)
            assert [row.stream_name for row in rows] == ["B", "a", "b"]
            assert [row.status for row in rows] == ["open", "errored", "open"]
            assert {(row.workflow_id, row.run_id) for row in rows} == {(workflow, run)}

    asyncio.run(use())


def test_a_reference_that_is_nobody_s_business_is_kept_as_it_is(api: Api) -> None:
    async def use() -> None:
        stream = ids()
        async with published(api) as (client, sent):
            await client.append_workflow_stream(*stream, [Item(payload_reference="s3://bucket/key?v=1")])
            # It has no value to send, so it has not asked what the server can do either.
            assert [each.method for each in sent] == ["POST"]
            page = await client.subscribe_workflow_stream(*stream)
            assert (page.items[0].payload, page.items[0].payload_reference) == (None, "s3://bucket/key?v=1")

    asyncio.run(use())


def test_a_value_in_its_own_storage_comes_back_as_it_was(api: Api, tmp_path_factory: pytest.TempPathFactory) -> None:
    storage = LocalFilesystemExternalStorage(tmp_path_factory.mktemp("s"))
    large = {"text": "x" * 1000}

    async def use() -> None:
        stream = ids()
        options = {"external_storage": storage, "external_storage_threshold_bytes": 100}
        async with published(api, **options) as (client, sent):
            await client.append_workflow_stream(*stream, [Item("small"), Item(large)])
            assert len(sent[-1].body) < 1000
        async with published(api, **options) as (client, _):
            small, stored = (await client.subscribe_workflow_stream(*stream)).items
            assert (small.payload, small.payload_reference) == ("small", None)
            assert stored.payload == large
            assert stored.payload_reference.startswith("file://")
        async with published(api) as (client, _):
            unresolved = (await client.subscribe_workflow_stream(*stream)).items[1]
            assert (unresolved.payload, unresolved.payload_reference) == (None, stored.payload_reference)

    asyncio.run(use())


async def waits(api: Api, count: int) -> None:
    """Return once so many reads wait in the server."""
    await until(lambda: api.server.application.service.live.count == count, f"{count} reads wait")
