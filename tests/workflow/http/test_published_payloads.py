"""The published client sends large values through the server's storage, or its own driver, on every database."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from durable_workflow import Client, errors
from durable_workflow import WorkflowStreamAppendItem as Item
from durable_workflow.external_storage import LocalFilesystemExternalStorage
from durable_workflow.serializer import envelope
from tests.workflow.http.api import a_run
from tests.workflow.http.published import Sent, published
from tests.workflow.http.storing import Storing, external, storing

from tailrace.workflow.payloads.transport import PATH

CLAIMED = 2
SMALL, LARGEST = "s" * 60, "l" * 900
THRESHOLD, LIMIT = (len(envelope(value)["blob"]) for value in (SMALL, LARGEST))


@pytest.fixture(scope="module")
def at(database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storing]:
    folder: Path = tmp_path_factory.mktemp("published")
    with storing(folder, url=database, threshold_bytes=THRESHOLD, max_payload_bytes=LIMIT) as storage:
        yield storage


def ids() -> tuple[str, str, str]:
    """Return the ids of a stream that nobody else uses."""
    return "wf", a_run().rpartition("/")[2], "tokens"


def uploads(sent: list[Sent]) -> list[int]:
    """Return the statuses of all uploads."""
    return [each.status for each in sent if (each.method, each.path) == ("POST", PATH)]


def used(at: Storing, work: Any, **options: Any) -> list[Sent]:
    """Do something with a client; return what it has sent."""

    async def use() -> list[Sent]:
        async with published(at.api, **options) as (client, sent):
            await work(client)
            return sent

    return asyncio.run(use())


def raised(at: Storing, work: Any, kind: type[Exception], **options: Any) -> Any:
    """Return what the client raises, which may have no class but that."""

    async def use() -> Any:
        async with published(at.api, **options) as (client, _):
            with pytest.raises(kind) as caught:
                await work(client)
            return caught.value

    error = asyncio.run(use())
    assert type(error) is kind
    return error


async def read(client: Client, stream: tuple[str, str, str]) -> list[Any]:
    return [item.payload for item in (await client.subscribe_workflow_stream(*stream)).items]


def appended(at: Storing, value: Any) -> tuple[str, str, str]:
    """Return a stream with a value that was large enough to be uploaded."""
    stream = ids()
    sent = used(at, lambda client: client.append_workflow_stream(*stream, [Item(value)]))
    assert uploads(sent) == [201]
    return stream


def stored(at: Storing, stream: tuple[str, str, str]) -> dict[str, Any]:
    """Return the reference that the first item of a stream has."""
    path = "/api/workflows/{}/runs/{}/streams/{}/items".format(*stream)
    reference: dict[str, Any] = at.api.get(path).json()["items"][0]["payload"]["external_payload"]
    return reference


def test_what_is_above_the_threshold_is_uploaded_and_comes_back_as_it_was(at: Storing) -> None:
    values = [SMALL, SMALL + "sss", {"text": LARGEST[:-40], "n": [1, None]}, LARGEST]
    stream = ids()

    sent = used(at, lambda client: client.append_workflow_stream(*stream, [Item(value) for value in values]))

    assert uploads(sent) == [201, 201, 201]
    assert LARGEST.encode() not in sent[-1].body

    async def follow(client: Client) -> None:
        assert await read(client, stream) == values

    got = used(at, follow)
    assert [each.status for each in got if each.path.startswith(f"{PATH}/")] == [200, 200, 200]
    assert stored(at, appended(at, SMALL + "sss"))["size_bytes"] > THRESHOLD


def test_the_same_value_is_one_object_however_often_it_is_sent(at: Storing) -> None:
    value = "same" * 100
    before = len(at.objects)
    streams = [appended(at, value) for _ in range(2)]

    assert len(at.objects) == before + 1
    assert stored(at, streams[0]) == stored(at, streams[1])


def test_a_retry_after_a_lost_answer_appends_nothing_twice(at: Storing) -> None:
    stream = ids()
    item = Item("retried" * 100, idempotency_key="k")

    async def work(client: Client) -> None:
        first = await client.append_workflow_stream(*stream, [item])
        again = await client.append_workflow_stream(*stream, [item])
        assert (first.accepted_offsets, again.accepted_offsets, again.deduplicated_count) == ([0], [0], 1)

    used(at, work)


def test_a_value_in_the_folder_of_its_own_driver_belongs_to_the_stream(at: Storing) -> None:
    options = {
        "external_storage": LocalFilesystemExternalStorage(at.root / "default"),
        "external_storage_threshold_bytes": 100,
    }
    stream, value = ids(), {"text": "direct" * 50}

    sent = used(at, lambda client: client.append_workflow_stream(*stream, [Item(value)]), **options)

    assert uploads(sent) == []

    async def follow(client: Client) -> None:
        (item,) = (await client.subscribe_workflow_stream(*stream)).items
        assert item.payload == value
        assert item.payload_reference.startswith((at.root / "default").as_uri())

    used(at, follow, **options)
    uri = at.database.look(lambda ask: ask("SELECT uri, state FROM {workflow_payloads} ORDER BY id DESC LIMIT 1"))[0]
    assert (uri[0].decode().startswith(at.root.as_uri()), uri[1]) == (True, CLAIMED)


def test_what_its_own_driver_has_not_stored_is_refused(at: Storing) -> None:
    missing = (at.root / "default" / "avro" / "missing").as_uri()
    before = at.rows()

    error = raised(
        at,
        lambda client: client.append_workflow_stream(*ids(), [Item(payload_reference=missing)]),
        errors.ExternalPayloadNotFound,
    )

    assert (error.status, at.rows()) == (404, before)


@pytest.mark.parametrize("reference", ["s3://bucket/key", "ep_short", "file:///elsewhere/avro/x", "{}"])
def test_a_reference_that_is_nobody_s_business_is_kept_and_nothing_else(at: Storing, reference: str) -> None:
    stream = ids()
    before = at.count("workflow_payloads")

    async def work(client: Client) -> None:
        await client.append_workflow_stream(*stream, [Item(payload_reference=reference)])
        (item,) = (await client.subscribe_workflow_stream(*stream)).items
        assert (item.payload, item.payload_reference) == (None, reference)

    used(at, work)
    assert at.count("workflow_payloads") == before


def test_what_is_gone_from_the_storage_is_not_found(at: Storing) -> None:
    stream = appended(at, "gone" * 100)
    at.path_of(stored(at, stream)["reference_id"]).unlink()

    error = raised(at, lambda client: read(client, stream), errors.ExternalPayloadNotFound)

    assert (error.status, error.retryable, error.reference_id) == (404, False, stored(at, stream)["reference_id"])


def test_an_item_may_not_refer_to_a_payload_of_another_namespace(at: Storing) -> None:
    sent = at.upload(b"elsewhere", {"x-namespace": "other"}).json()["reference"]
    before = at.rows()

    error = raised(
        at,
        lambda client: client.append_workflow_stream(*ids(), [Item(payload_reference=sent["reference_id"])]),
        errors.ExternalPayloadNotFound,
    )

    assert (error.status, at.rows()) == (404, before)


def test_an_upload_that_nobody_has_claimed_expires(at: Storing) -> None:
    sent = at.upload(b"late").json()["reference"]
    at.expire()
    before = at.rows()

    error = raised(
        at,
        lambda client: client.append_workflow_stream(*ids(), [Item(payload_reference=sent["reference_id"])]),
        errors.ExternalPayloadExpired,
    )

    assert (error.status, error.retryable, at.rows()) == (410, False, before)


def test_a_storage_that_is_away_is_unavailable_and_later_all_is_well(at: Storing) -> None:
    stream, value = appended(at, "kept" * 100), "new" * 100
    before = at.rows()

    with at.storage_away():
        reading = raised(at, lambda client: read(client, stream), errors.ExternalPayloadUnavailable)
        writing = raised(
            at,
            lambda client: client.append_workflow_stream(*ids(), [Item(value)]),
            errors.ExternalPayloadUnavailable,
        )

    assert (reading.status, reading.retryable) == (writing.status, writing.retryable) == (503, True)
    assert at.rows() == before
    appended(at, value)

    async def follow(client: Client) -> None:
        assert await read(client, stream) == ["kept" * 100]

    used(at, follow)


def test_what_is_larger_than_the_limit_is_not_even_sent(at: Storing) -> None:
    before = at.rows()

    error = raised(
        at,
        lambda client: client.append_workflow_stream(*ids(), [Item(LARGEST + "lll")]),
        errors.ExternalPayloadOversized,
    )

    assert (error.status, at.rows()) == (None, before)


def test_a_client_that_does_not_know_the_limit_learns_it(at: Storing) -> None:
    before = at.rows()

    async def work(client: Client) -> None:
        info = await client.get_cluster_info()
        info["namespace"]["external_payload_storage"]["transport"]["limits"]["max_payload_bytes"] *= 2
        assert client._cluster_info is info
        await client.append_workflow_stream(*ids(), [Item(LARGEST + "lll")])

    error = raised(at, work, errors.ExternalPayloadOversized)

    assert (error.status, error.body["limit"], at.rows()) == (413, LIMIT, before)


def test_an_object_that_was_altered_is_not_handed_out(at: Storing) -> None:
    stream = appended(at, "before" * 100)
    path = at.path_of(stored(at, stream)["reference_id"])
    path.write_bytes(path.read_bytes()[:-1] + b"?")

    error = raised(at, lambda client: read(client, stream), errors.ExternalPayloadIntegrityMismatch)

    assert (error.status, error.retryable) == (422, False)


def test_an_item_that_says_other_bytes_than_the_registry_is_refused(at: Storing) -> None:
    reference = stored(at, appended(at, "said" * 100))
    before = at.rows()
    wrong = external({**reference, "size_bytes": reference["size_bytes"] + 1})

    async def work(client: Client) -> None:
        path = "/workflows/{}/runs/{}/streams/{}/items".format(*ids())
        await client._request("POST", path, json={"items": [{"payload": wrong, "payload_codec": "avro"}]})

    error = raised(at, work, errors.ExternalPayloadIntegrityMismatch)

    assert (error.status, at.rows()) == (422, before)


def test_more_than_a_namespace_may_have_is_refused_three_times(tmp_path: Path) -> None:
    with storing(tmp_path, threshold_bytes=THRESHOLD, max_payload_bytes=LIMIT, max_objects=1) as at:
        appended(at, "first" * 100)
        before = at.rows()

        # The client has no class for that.
        error = raised(
            at, lambda client: client.append_workflow_stream(*ids(), [Item("second" * 100)]), errors.ServerError
        )

        assert (error.status, error.reason(), at.rows()) == (429, "external_payload_exhausted", before)


def test_where_they_are_not_allowed_its_own_driver_refuses_to_send_references(tmp_path: Path) -> None:
    with storing(tmp_path, direct_references=False) as at:
        options = {
            "external_storage": LocalFilesystemExternalStorage(at.root / "default"),
            "external_storage_threshold_bytes": 100,
        }
        before = at.rows()

        error = raised(
            at,
            lambda client: client.append_workflow_stream(*ids(), [Item("direct" * 50)]),
            errors.RuntimeCapabilityUnsupported,
            **options,
        )

        assert (error.capability, at.rows()) == ("direct_provider_adapters", before)
