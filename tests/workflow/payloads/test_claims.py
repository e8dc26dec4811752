"""A payload belongs to the streams that refer to it: from the transaction of their items on, and until these go."""

import json
from dataclasses import replace

import pytest
from durable_workflow.external_storage import LocalFilesystemExternalStorage
from durable_workflow.serializer import external_storage_envelope
from tests.workflow.payloads.scene import Scene, items

from tailrace.workflow.envelope import decode_blob
from tailrace.workflow.errors import StreamClosedError, StreamFullError
from tailrace.workflow.model import NewItem
from tailrace.workflow.payloads import (
    Digest,
    DirectReference,
    PayloadExpiredError,
    PayloadIntegrityError,
    PayloadNotFoundError,
    PayloadOversizedError,
    PayloadsExhaustedError,
    PayloadUnavailableError,
    PayloadUnsupportedError,
    RuntimeReference,
    open_driver,
)
from tailrace.workflow.payloads.places import address

UPLOADED, CLAIMED = 1, 2


def nothing_is_stored(scene: Scene) -> bool:
    return scene.count("workflow_items") == scene.count("workflow_streams") == scene.count("workflow_claims") == 0


def direct(scene: Scene, name: str, content: bytes = b"direct") -> DirectReference:
    """Store a payload as a producer does that has the driver itself."""
    uri = address(scene.driver.base, "default", name)
    scene.driver.put(uri, content)
    return DirectReference(uri, Digest.of(content))


def test_an_upload_can_be_fetched_and_is_claimed_by_the_append_that_refers_to_it(scene: Scene) -> None:
    reference = scene.upload()
    assert scene.states == [UPLOADED]
    assert scene.service.payloads.fetch("default", reference.reference_id) == (reference, b"payload")

    scene.append(scene.stream("s"), reference)

    assert scene.states == [CLAIMED]
    scene.age()
    assert scene.service.sweep().payloads == 0
    assert scene.service.payloads.fetch("default", reference.reference_id)[1] == b"payload"


def test_a_fetch_that_expects_another_payload_does_not_ask_the_storage(scene: Scene) -> None:
    reference = scene.upload()
    assert scene.service.payloads.fetch("default", reference.reference_id, reference.digest)[1] == b"payload"

    with scene.storage_away(), pytest.raises(PayloadIntegrityError) as error:
        scene.service.payloads.fetch("default", reference.reference_id, Digest.of(b"another"))
    assert error.value.reference_id == reference.reference_id


def test_the_same_upload_twice_is_one_object_and_in_another_namespace_another(scene: Scene) -> None:
    assert scene.upload() == scene.upload()
    assert len(scene.objects) == 1

    other = scene.upload(namespace="other")

    assert len(scene.objects) == 2
    with pytest.raises(PayloadNotFoundError):
        scene.service.payloads.fetch("default", other.reference_id)


def test_bytes_that_are_not_those_announced_are_not_stored(scene: Scene) -> None:
    with pytest.raises(PayloadIntegrityError):
        scene.service.payloads.upload("default", Digest.of(b"payload"), b"another")

    assert scene.objects == []
    assert scene.count("workflow_payloads") == 0


def test_an_upload_that_the_storage_did_not_take_is_no_payload_and_can_be_repeated(scene: Scene) -> None:
    with scene.storage_away(), pytest.raises(PayloadUnavailableError):
        scene.upload()
    reference = RuntimeReference.to("default", Digest.of(b"payload"))

    with pytest.raises(PayloadNotFoundError):
        scene.service.payloads.fetch("default", reference.reference_id)
    with pytest.raises(PayloadNotFoundError):
        scene.append(scene.stream("s"), reference)

    assert scene.upload() == reference
    scene.append(scene.stream("s"), reference)


def test_an_upload_that_never_came_is_forgotten(scene: Scene) -> None:
    with scene.storage_away(), pytest.raises(PayloadUnavailableError):
        scene.upload()
    scene.age()

    scene.service.sweep()

    assert scene.count("workflow_payloads") == 0


def test_what_nobody_claims_expires_by_the_databases_clock_and_then_goes(scene: Scene) -> None:
    reference = scene.upload()
    scene.age()
    kept = scene.upload(b"younger")

    # Before any sweep, too.
    with pytest.raises(PayloadExpiredError):
        scene.service.payloads.fetch("default", reference.reference_id)
    with pytest.raises(PayloadExpiredError):
        scene.append(scene.stream("s"), reference)
    assert scene.service.sweep().payloads == 1

    assert scene.objects == [kept.reference_id]
    with pytest.raises(PayloadNotFoundError):
        scene.service.payloads.fetch("default", reference.reference_id)


def test_an_expired_upload_can_be_repeated(scene: Scene) -> None:
    reference = scene.upload()
    scene.age()

    assert scene.upload() == reference

    assert scene.service.sweep().payloads == 0
    scene.append(scene.stream("s"), reference)


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
    assert nothing_is_stored(scene)
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
    assert nothing_is_stored(scene)


def test_an_object_that_was_altered_is_refused_when_it_is_referred_to_and_when_it_is_read(scene: Scene) -> None:
    reference = scene.upload()
    (path,) = (scene.root / "default").iterdir()
    for altered in (b"pAyload", b"payload and more", b""):
        path.write_bytes(altered)

        with pytest.raises(PayloadIntegrityError):
            scene.append(scene.stream("s"), reference)
        with pytest.raises(PayloadIntegrityError):
            scene.service.payloads.fetch("default", reference.reference_id)
    assert nothing_is_stored(scene)


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
    stored = direct(scene, "mine")
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
    assert nothing_is_stored(scene)


def test_a_string_and_an_object_may_refer_to_the_registry_too(scene: Scene) -> None:
    one, two = scene.upload(b"one"), scene.upload(b"two")

    scene.service.append(
        scene.stream("s"),
        [NewItem(payload_reference=one.reference_id), NewItem(payload_reference=two.document)],
    )

    assert scene.states == [CLAIMED, CLAIMED]


def test_a_namespace_has_no_more_payloads_and_bytes_than_it_may(scene: Scene) -> None:
    few = scene.open(scene.driver, max_objects=1).payloads
    small = scene.open(scene.driver, max_bytes=10).payloads
    few.upload("default", Digest.of(b"one"), b"one")

    few.upload("default", Digest.of(b"one"), b"one")
    few.upload("other", Digest.of(b"one"), b"one")
    with pytest.raises(PayloadsExhaustedError):
        few.upload("default", Digest.of(b"two"), b"two")
    small.upload("default", Digest.of(b"7 bytes"), b"7 bytes")
    with pytest.raises(PayloadsExhaustedError):
        small.upload("default", Digest.of(b"!"), b"!")
    assert len(scene.objects) == 3


def test_a_payload_of_the_limit_is_taken_and_one_byte_more_is_not(scene: Scene) -> None:
    limited = scene.open(scene.driver, threshold_bytes=1, max_payload_bytes=7).payloads

    limited.upload("default", Digest.of(b"payload"), b"payload")
    with pytest.raises(PayloadOversizedError):
        limited.upload("default", Digest.of(b"payloads"), b"payloads")
    stored = direct(scene, "mine", b"8 bytes!")
    with pytest.raises(PayloadOversizedError):
        scene.services[-1].append(scene.stream("s"), items(stored))


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


def test_a_payload_that_a_producer_has_stored_belongs_to_the_stream_too(scene: Scene) -> None:
    stream, stored = scene.stream("s"), direct(scene, "mine")

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
    altered = replace(direct(scene, "mine"), digest=Digest.of(b"what it was meant to be"))
    with pytest.raises(PayloadIntegrityError):
        scene.append(scene.stream("s"), altered)

    assert nothing_is_stored(scene)
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


def test_deleting_a_run_deletes_its_objects_or_leaves_everything(scene: Scene) -> None:
    stream = scene.stream("s")
    scene.append(stream, scene.upload(b"one"), scene.upload(b"two"))
    scene.age()

    with scene.storage_away(), pytest.raises(PayloadUnavailableError):
        scene.service.delete_run(stream.run)
    assert scene.service.describe(stream).total_items == 2
    assert len(scene.objects) == 2

    assert scene.service.delete_run(stream.run)
    assert scene.objects == []
    assert nothing_is_stored(scene)
    assert not scene.service.delete_run(stream.run)


def test_what_was_uploaded_lately_outlives_its_last_stream_by_the_grace(scene: Scene) -> None:
    stream, reference = scene.stream("s"), scene.upload()
    scene.append(stream, reference)
    scene.expire(stream)

    # Its producer may be about to refer to it once more.
    assert scene.service.sweep().streams == 1
    assert scene.states == [UPLOADED]
    scene.append(scene.stream("t"), reference)
    assert scene.states == [CLAIMED]
