"""Every refusal becomes the exception of the published client that its users expect."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from durable_workflow import WorkflowStreamAppendItem as Item
from durable_workflow import errors
from tests.workflow.http.api import Api, a_run, serving
from tests.workflow.http.published import published

from tailrace.server.access import AccessKey, AccessKeys
from tailrace.server.configuration import Access, Workflow


@pytest.fixture(scope="module")
def keys() -> dict[str, tuple[str, AccessKey]]:
    return {name: AccessKey.fresh(name, [f"role:{name}:*"]) for name in ("operator", "worker")}


@pytest.fixture(scope="module")
def api(
    database: str, tmp_path_factory: pytest.TempPathFactory, keys: dict[str, tuple[str, AccessKey]]
) -> Iterator[Api]:
    folder: Path = tmp_path_factory.mktemp("errors")
    access = Access(keys=AccessKeys(key for _, key in keys.values()).text)
    with serving(folder, access=access, workflow=Workflow(registered=True), store=database) as api:
        yield api


@pytest.fixture(scope="module")
def operator(keys: dict[str, tuple[str, AccessKey]]) -> str:
    return keys["operator"][0]


def raised(api: Api, work: Any, **options: Any) -> Any:
    """Return what the client raises in some work, and how often it has sent that."""

    async def use() -> Any:
        async with published(api, **options) as (client, sent):
            await client.get_cluster_info()
            sent.clear()
            with pytest.raises(errors.DurableWorkflowError) as caught:
                await work(client)
            return caught.value, [each.status for each in sent]

    return asyncio.run(use())


async def started(client: Any) -> tuple[str, str]:
    handle = await client.start_workflow(workflow_type="t", task_queue="q", workflow_id=a_run().rpartition("/")[2])
    assert handle.run_id
    return handle.workflow_id, handle.run_id


def test_a_run_that_is_not_there(api: Api, operator: str) -> None:
    error, sent = raised(api, lambda client: client.append_workflow_stream("w", "r", "s", [Item(1)]), token=operator)

    assert isinstance(error, errors.WorkflowNotFound)
    assert sent == [404]


def test_a_stream_that_is_not_there(api: Api, operator: str) -> None:
    async def work(client: Any) -> None:
        await client.describe_workflow_stream(*await started(client), "s")

    error, _ = raised(api, work, token=operator)

    assert isinstance(error, errors.ServerError)
    assert (error.status, error.reason()) == (404, "stream_not_found")


@pytest.mark.parametrize(("reason", "expected"), [(None, "stream_closed"), ("why", "stream_errored")])
def test_a_stream_that_has_ended(api: Api, operator: str, reason: str | None, expected: str) -> None:
    async def work(client: Any) -> None:
        run = await started(client)
        await client.append_workflow_stream(*run, "s", [Item(1)])
        await client.close_workflow_stream(*run, "s", error_reason=reason)
        await client.append_workflow_stream(*run, "s", [Item(2)])

    error, sent = raised(api, work, token=operator)

    assert isinstance(error, errors.ServerError)
    assert (error.status, error.reason()) == (409, expected)
    assert sent.count(409) == 1


def test_a_key_with_another_value(api: Api, operator: str) -> None:
    async def work(client: Any) -> None:
        run = await started(client)
        for value in range(2):
            await client.append_workflow_stream(*run, "s", [Item(value, idempotency_key="k")])

    error, _ = raised(api, work, token=operator)

    assert (error.status, error.reason()) == (409, "idempotency_conflict")


def test_what_is_out_of_bounds(api: Api, operator: str) -> None:
    async def work(client: Any) -> None:
        run = await started(client)
        await client.append_workflow_stream(*run, "s", [Item(1, item_type="x" * 65)], max_pending_items=10_001)

    error, sent = raised(api, work, token=operator)

    assert isinstance(error, errors.InvalidArgument)
    assert error.errors is not None
    assert set(error.errors) == {"items.0.item_type", "max_pending_items"}
    assert sent.count(422) == 1


def test_a_retention_that_is_too_long(api: Api, operator: str) -> None:
    async def work(client: Any) -> None:
        run = await started(client)
        await client.append_workflow_stream(*run, "s", [Item(1)])
        await client.close_workflow_stream(*run, "s", retention_seconds=2_592_001)

    error, _ = raised(api, work, token=operator)

    assert isinstance(error, errors.InvalidArgument)
    assert set(error.errors or {}) == {"retention_seconds"}


def test_a_name_that_is_none(api: Api, operator: str) -> None:
    error, _ = raised(api, lambda client: client.describe_workflow_stream("w", "r", "a/b"), token=operator)

    assert (error.status, error.reason()) == (400, "invalid_stream_name")


def test_a_request_that_is_too_large(api: Api, operator: str) -> None:
    async def work(client: Any) -> None:
        await client.append_workflow_stream(*await started(client), "s", [Item("x" * 2**21)])

    error, sent = raised(api, work, token=operator, payload_size_warnings=False)

    assert (error.status, error.reason(), error.body["limit"]) == (413, "payload_too_large", 2**21)
    assert sent.count(413) == 1


def test_nobody_who_is_let_in(api: Api, operator: str) -> None:
    async def work(client: Any) -> None:
        client.token = "no"
        await client.list_workflow_streams("w", "r")

    error, _ = raised(api, work, token=operator)

    assert isinstance(error, errors.Unauthorized)


def test_a_worker_who_wants_what_operators_may(api: Api, keys: dict[str, tuple[str, AccessKey]]) -> None:
    error, _ = raised(api, lambda client: client.list_workflow_streams("w", "r"), token=keys["worker"][0])

    assert (error.status, error.reason()) == (403, "forbidden")
    assert (error.body["role"], error.body["allowed_roles"]) == ("worker", ["admin", "operator"])


def test_a_namespace_that_is_not_there(api: Api, operator: str) -> None:
    error, _ = raised(api, lambda client: client.list_workflow_streams("w", "r"), token=operator, namespace="none")

    assert isinstance(error, errors.NamespaceNotFound)


def test_a_workflow_that_goes_on_already(api: Api, operator: str) -> None:
    async def work(client: Any) -> None:
        identity, run = await started(client)
        again = {"workflow_type": "t", "task_queue": "q", "workflow_id": identity}
        assert (await client.start_workflow(**again, duplicate_policy="use-existing")).run_id == run
        execution = await client.describe_workflow(identity)
        assert (execution.run_id, execution.status, execution.namespace) == (run, "running", "default")
        assert (await client.describe_workflow_run(identity, run)).workflow_type == "t"
        await client.start_workflow(**again)

    error, _ = raised(api, work, token=operator)

    assert isinstance(error, errors.WorkflowAlreadyStarted)
