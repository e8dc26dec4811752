"""A payload belongs to the streams that refer to it: from the transaction of their items on, and until these go."""

import json
from dataclasses import replace

import pytest
from tests.workflow.payloads.scene import CLAIMED, UPLOADED, Scene, items

from tailrace.workflow.errors import StreamClosedError, StreamFullError
from tailrace.workflow.model import NewItem
from tailrace.workflow.payloads import (
    Digest,
    PayloadIntegrityError,
    PayloadNotFoundError,
    PayloadUnsupportedError,
    RuntimeReference,
)


@pytest.mark.parametrize("closed", [False, True])
def test_a_refused_batch_has_claimed_nothing(scene: Scene, closed: bool) -> None:
    stream = scene.stream("s")
    if closed:
        scene.service.append(stream, [NewItem()])
        scene.service.end(stream)
    reference = scene.upload()

    with pytest.raises(StreamClosedError if closed else StreamFullError):
        scene.append(stream, reference, scene.upload(b"second"), max_pending_items=1)

    assert scene.states == [UPLOADED, UPLOADED]
    assert scene.count("workflow_claims") == 0
    scene.age()
    assert scene.service.sweep().payloads == 2
    assert scene.objects == []


def test_a_full_stream_is_told_before_what_is_wrong_with_a_payload(scene: Scene) -> None:
    missing = RuntimeReference.to("default", Digest.of(b"never uploaded"))

    with pytest.raises(StreamFullError):
        scene.append(scene.stream("s"), missing, missing, max_pending_items=1)


def test_a_repeated_batch_is_answered_whatever_has_become_of_its_payloads(scene: Scene) -> None:
    stream, reference = scene.stream("s"), scene.upload()
    first = scene.append(stream, reference)
    scene.service.end(stream)

    with scene.storage_away():
        again = scene.append(stream, reference)

    assert again.offsets == first.offsets
    assert again.deduped == 1


def test_a_dangling_reference_stores_nothing_and_names_the_item(scene: Scene) -> None:
    there, missing = scene.upload(), RuntimeReference.to("default", Digest.of(b"never uploaded"))

    with pytest.raises(PayloadNotFoundError) as error:
        scene.append(scene.stream("s"), there, missing)

    assert error.value.details["item"] == 1
    assert error.value.reference_id == missing.reference_id
    assert scene.stores_nothing
    assert scene.states == [UPLOADED]


def test_another_namespaces_payload_is_not_there(scene: Scene) -> None:
    reference = scene.upload(namespace="other")

    with pytest.raises(PayloadNotFoundError):
        scene.append(scene.stream("s"), reference)
    scene.append(scene.stream("s", namespace="other"), reference)


def test_a_reference_that_says_something_else_than_the_registry_is_refused(scene: Scene) -> None:
    reference = scene.upload()
    wrong = replace(reference, digest=Digest.of(b"something else"))

    with pytest.raises(PayloadIntegrityError):
        scene.append(scene.stream("s"), wrong)
    assert scene.stores_nothing


def test_an_object_that_was_altered_is_refused_when_it_is_referred_to_and_when_it_is_read(scene: Scene) -> None:
    reference = scene.upload()
    (path,) = (scene.root / "default").iterdir()
    for altered in (b"pAyload", b"payload and more", b""):
        path.write_bytes(altered)

        with pytest.raises(PayloadIntegrityError):
            scene.append(scene.stream("s"), reference)
        with pytest.raises(PayloadIntegrityError):
            scene.service.payloads.fetch("default", reference.reference_id)
    assert scene.stores_nothing


def test_a_missing_object_is_told_with_the_item_that_refers_to_it(scene: Scene) -> None:
    stream, reference = scene.stream("s"), scene.upload()
    scene.append(stream, reference)
    (path,) = (scene.root / "default").iterdir()
    path.unlink()
    (document,) = scene.service.subscribe(stream).documents
    item = json.loads(document)

    with pytest.raises(PayloadNotFoundError) as error:
        scene.service.referred.content(
            "default", json.dumps(item["payload"]).encode(), item["payload_reference"], item["offset"]
        )

    assert error.value.details["offset"] == 0
    assert error.value.reference_id == reference.reference_id


def test_the_content_of_an_item_is_had_wherever_it_is(scene: Scene) -> None:
    stored = scene.direct("mine")
    content = scene.service.referred.content

    assert [content("default", item.payload, None, 0) for item in items(scene.upload(), stored)] == [
        b"payload",
        b"direct",
    ]
    assert content("default", b'{"codec":"avro","blob":"wwHioz3/VYAiNwA="}', None, 0) is None
    assert content("default", b"null", "s3://elsewhere/x", 0) is None


@pytest.mark.parametrize("key", ["payload", "payload_reference"])
def test_a_malformed_reference_is_refused_before_anything_else(scene: Scene, key: str) -> None:
    document = {**scene.upload().document, "size_bytes": "7"}
    wrong = (
        NewItem(payload=json.dumps({"codec": "avro", "external_payload": document}).encode())
        if key == "payload"
        else NewItem(payload_reference=document)
    )

    with pytest.raises(PayloadUnsupportedError) as error:
        scene.service.append(scene.stream("s"), [NewItem(), wrong])
    assert error.value.details["item"] == 1
    assert scene.stores_nothing


def test_a_string_and_an_object_may_refer_to_the_registry_too(scene: Scene) -> None:
    one, two = scene.upload(b"one"), scene.upload(b"two")

    scene.service.append(
        scene.stream("s"),
        [NewItem(payload_reference=one.reference_id), NewItem(payload_reference=two.document)],
    )

    assert scene.states == [CLAIMED, CLAIMED]
