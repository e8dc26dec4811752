"""A payload that was uploaded is there for whoever refers to it in time, and for nobody in another namespace."""

import pytest
from tests.workflow.payloads.scene import CLAIMED, UPLOADED, Scene, items

from tailrace.workflow.payloads import (
    Digest,
    PayloadExpiredError,
    PayloadIntegrityError,
    PayloadNotFoundError,
    PayloadOversizedError,
    PayloadsExhaustedError,
    PayloadUnavailableError,
    RuntimeReference,
)


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
    stored = scene.direct("mine", b"8 bytes!")
    with pytest.raises(PayloadOversizedError):
        scene.services[-1].append(scene.stream("s"), items(stored))


def test_what_was_uploaded_lately_outlives_its_last_stream_by_the_grace(scene: Scene) -> None:
    stream, reference = scene.stream("s"), scene.upload()
    scene.append(stream, reference)
    scene.expire(stream)

    # Its producer may be about to refer to it once more.
    assert scene.service.sweep().streams == 1
    assert scene.states == [UPLOADED]
    scene.append(scene.stream("t"), reference)
    assert scene.states == [CLAIMED]
