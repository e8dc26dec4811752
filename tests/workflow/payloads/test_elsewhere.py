"""Payloads that a producer has stored itself, and what is in no storage that is configured."""

import json
from dataclasses import replace

import pytest
from durable_workflow.external_storage import LocalFilesystemExternalStorage
from durable_workflow.serializer import external_storage_envelope
from tests.workflow.payloads.scene import CLAIMED, Scene, items

from tailrace.workflow.envelope import decode_blob
from tailrace.workflow.model import NewItem
from tailrace.workflow.payloads import (
    Digest,
    DirectReference,
    PayloadIntegrityError,
    PayloadNotFoundError,
    PayloadUnavailableError,
    open_driver,
)
from tailrace.workflow.payloads.places import address


def test_a_payload_that_a_producer_has_stored_belongs_to_the_stream_too(scene: Scene) -> None:
    stream, stored = scene.stream("s"), scene.direct("mine")

    scene.append(stream, stored)
    scene.append(stream, stored)

    assert scene.states == [CLAIMED]
    scene.age()
    scene.expire(stream)
    assert scene.service.sweep().payloads == 1
    assert scene.objects == []


def test_what_the_published_client_has_stored_in_the_folder_of_its_namespace_belongs_to_the_stream(
    scene: Scene,
) -> None:
    stream = scene.stream("s")
    storage = LocalFilesystemExternalStorage(scene.root / "default")
    envelope = external_storage_envelope({"text": "x" * 100}, external_storage=storage, threshold_bytes=1)
    uri = envelope["external_storage"]["uri"]

    item = NewItem(payload=json.dumps(envelope).encode(), payload_codec="avro")
    scene.service.append(stream, [item])

    assert scene.states == [CLAIMED]
    content = scene.service.referred.content("default", item.payload, uri, 0)
    assert content is not None
    assert decode_blob(content.decode()) == {"text": "x" * 100}
    scene.age()
    scene.expire(stream)
    assert scene.service.sweep().payloads == 1
    assert scene.objects == []


def test_a_payload_that_a_producer_has_not_stored_is_refused(scene: Scene) -> None:
    uri = address(scene.driver.base, "default", "nowhere")

    with pytest.raises(PayloadNotFoundError):
        scene.append(scene.stream("s"), DirectReference(uri, Digest.of(b"x")))
    with pytest.raises(PayloadNotFoundError):
        scene.service.append(scene.stream("s"), [NewItem(payload_reference=uri)])
    altered = replace(scene.direct("mine"), digest=Digest.of(b"what it was meant to be"))
    with pytest.raises(PayloadIntegrityError):
        scene.append(scene.stream("s"), altered)

    assert scene.stores_nothing
    assert scene.count("workflow_payloads") == 0


def test_an_opaque_reference_is_stored_as_it_is_and_its_object_never_touched(scene: Scene) -> None:
    stream = scene.stream("s")
    elsewhere = scene.root.parent / "elsewhere"
    elsewhere.write_bytes(b"not ours")
    foreign = address(scene.driver.base, "other", "x")
    scene.driver.put(foreign, b"another namespace's")
    opaque = [elsewhere.as_uri(), foreign, "s3://bucket/never/there", "whatever"]

    with scene.storage_away():
        scene.service.append(stream, [NewItem(payload_reference=text) for text in opaque])

    documents = scene.service.subscribe(stream).documents
    assert [json.loads(document)["payload_reference"] for document in documents] == opaque
    assert scene.count("workflow_payloads") == 0
    scene.expire(stream)
    scene.service.sweep()
    assert elsewhere.read_bytes() == b"not ours"
    assert scene.driver.exists(foreign)


def test_without_a_storage_nothing_of_the_registry_can_be_referred_to(scene: Scene) -> None:
    reference = scene.upload()
    without = scene.open(None)

    with pytest.raises(PayloadUnavailableError):
        without.append(scene.stream("s"), items(reference))
    with pytest.raises(PayloadUnavailableError):
        without.payloads.upload("default", reference.digest, b"payload")
    with pytest.raises(PayloadUnavailableError):
        without.payloads.fetch("default", reference.reference_id)
    without.append(scene.stream("s"), [NewItem(payload_reference="s3://anything/else")])


def test_what_is_in_another_storage_than_the_one_configured_is_unavailable(scene: Scene) -> None:
    reference = scene.upload()
    scene.append(scene.stream("s"), reference)
    moved = scene.open(open_driver(f"file://{scene.root}-moved"))

    for use in (
        lambda: moved.payloads.fetch("default", reference.reference_id),
        lambda: moved.payloads.upload("default", reference.digest, b"payload"),
        lambda: moved.append(scene.stream("t"), items(reference)),
    ):
        with pytest.raises(PayloadUnavailableError):
            use()


def test_an_item_without_a_reference_asks_nothing_of_the_storage(scene: Scene) -> None:
    with scene.storage_away():
        scene.service.append(scene.stream("s"), [NewItem(payload=b'{"external_":1}'), NewItem()])
    assert scene.count("workflow_items") == 2
