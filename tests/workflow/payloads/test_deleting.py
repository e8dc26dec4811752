"""S28: deleting an object beside whoever uploads, claims or deletes it, in every order."""

import threading
import time
from functools import partial

import pytest
from tests.workflow.payloads.scene import Gate, Scene

from tailrace.testing.reading import Background
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.model import StreamRef
from tailrace.workflow.payloads import (
    Digest,
    DirectReference,
    PayloadError,
    PayloadExpiredError,
    PayloadNotFoundError,
    PayloadUnavailableError,
    RuntimeReference,
)
from tailrace.workflow.payloads.places import address


def uploaded_and_appended(scene: Scene, stream: StreamRef, content: bytes) -> RuntimeReference:
    """Do as a client does, whose uploads may be discarded before it refers to them: again."""
    deadline = time.monotonic() + 60
    while True:
        try:
            reference = scene.upload(content)
            scene.append(stream, reference)
        except (PayloadExpiredError, PayloadNotFoundError, PayloadUnavailableError):
            if time.monotonic() > deadline:
                raise
        else:
            return reference


def test_a_payload_that_is_discarded_between_its_look_and_its_claim_is_not_claimed(scene: Scene) -> None:
    reference = scene.upload()

    def discard() -> None:
        scene.age()
        assert scene.service.sweep().payloads == 1

    scene.driver.before["after get"] = discard
    with pytest.raises(PayloadExpiredError):
        scene.append(scene.stream("s"), reference)

    assert scene.count("workflow_items") == 0
    assert scene.upload() == reference
    scene.append(scene.stream("s"), reference)
    assert scene.objects == [reference.reference_id]


def test_a_payload_that_is_claimed_while_a_sweep_looks_for_others_stays(scene: Scene) -> None:
    first, second = scene.upload(b"one"), scene.upload(b"two")
    scene.age()

    def claim() -> None:
        # Uploaded again and claimed, between the sweep's list and its turn.
        scene.append(scene.stream("s"), scene.upload(b"two"))

    scene.driver.before["delete"] = claim
    assert scene.service.sweep().payloads == 1

    assert scene.objects == [second.reference_id]
    assert scene.service.payloads.fetch("default", second.reference_id)[1] == b"two"
    assert first.reference_id not in scene.objects


def test_an_upload_while_the_same_content_is_being_deleted_is_another_object(scene: Scene) -> None:
    stream = scene.stream("s")
    reference = scene.upload()
    scene.append(stream, reference)
    scene.age()
    scene.expire(stream)
    gate = Gate()
    scene.driver.before["delete"] = gate

    sweeping = Background(scene.service.sweep)
    gate.reached()
    assert scene.upload() == reference
    assert scene.objects == [reference.reference_id] * 2
    scene.append(scene.stream("t"), reference)
    gate.open()

    assert sweeping.result().payloads == 1
    assert scene.objects == [reference.reference_id]
    assert scene.service.payloads.fetch("default", reference.reference_id)[1] == b"payload"


def test_what_is_being_deleted_can_not_be_claimed(scene: Scene) -> None:
    stream, reference = scene.stream("s"), scene.upload()
    scene.append(stream, reference)
    scene.age()
    scene.expire(stream)
    gate = Gate()
    scene.driver.before["delete"] = gate

    sweeping = Background(scene.service.sweep)
    gate.reached()
    with pytest.raises(PayloadExpiredError):
        scene.append(scene.stream("t"), reference)
    gate.open()

    assert sweeping.result().payloads == 1
    with pytest.raises(PayloadNotFoundError):
        scene.append(scene.stream("t"), reference)
    assert scene.count("workflow_items") == 0


def test_what_a_producer_has_stored_is_refused_while_it_is_being_deleted(scene: Scene) -> None:
    stream = scene.stream("s")
    uri = address(scene.driver.base, "default", "mine")
    scene.driver.put(uri, b"x")
    stored = DirectReference(uri, Digest.of(b"x"))
    scene.append(stream, stored)
    scene.age()
    scene.expire(stream)
    gate = Gate()
    scene.driver.before["delete"] = gate

    sweeping = Background(scene.service.sweep)
    gate.reached()
    with pytest.raises(PayloadUnavailableError):
        scene.append(scene.stream("t"), stored)
    gate.open()

    assert sweeping.result().payloads == 1
    with pytest.raises(PayloadNotFoundError):
        scene.append(scene.stream("t"), stored)


def test_what_a_producer_has_stored_and_was_deleted_since_it_was_looked_at_is_refused(scene: Scene) -> None:
    stream = scene.stream("s")
    uri = address(scene.driver.base, "default", "mine")
    scene.driver.put(uri, b"x")
    stored = DirectReference(uri, Digest.of(b"x"))
    scene.append(stream, stored)
    scene.age()
    scene.expire(stream)

    # All of the deletion lies between the look at the object and the row that is made for it.
    scene.driver.before["after get"] = scene.service.sweep
    with pytest.raises(PayloadNotFoundError):
        scene.append(scene.stream("t"), stored)
    assert scene.count("workflow_claims") == 0


def test_two_streams_that_go_at_once_delete_what_they_share_once_and_neither_leaves_it(scene: Scene) -> None:
    reference = scene.upload()
    for name in ("one", "two"):
        scene.append(scene.stream(name), reference)
    scene.age()
    for name in ("one", "two"):
        scene.expire(scene.stream(name))
    other = scene.open(scene.driver)
    together = threading.Barrier(2)

    def sweep(service: EmbeddedService) -> None:
        together.wait(60)
        service.sweep()

    both = [Background(partial(sweep, service)) for service in (scene.service, other)]
    for one in both:
        one.result()
    # What one has left to the other is left for the next pass.
    scene.service.sweep()

    assert scene.objects == []
    assert (scene.count("workflow_payloads"), scene.count("workflow_claims"), scene.count("workflow_items")) == (
        0,
        0,
        0,
    )


def test_a_second_sweep_leaves_a_deletion_that_is_under_way_to_the_first(scene: Scene) -> None:
    stream = scene.stream("s")
    scene.append(stream, scene.upload())
    scene.age()
    scene.expire(stream)
    gate = Gate()
    scene.driver.before["delete"] = gate

    sweeping = Background(scene.service.sweep)
    gate.reached()
    second = scene.open(scene.driver).sweep()
    assert (second.payloads, second.streams, second.failed) == (0, 0, 0)
    gate.open()

    first = sweeping.result()
    assert (first.payloads, first.streams) == (1, 1)


def test_what_an_append_has_claimed_is_there_whatever_sweeps_and_other_producers_do_at_once(scene: Scene) -> None:
    content = b"the same for all"
    missing: list[object] = []

    def produce(number: int) -> None:
        for turn in range(4):
            stream = scene.stream(f"s{number}-{turn}")
            reference = uploaded_and_appended(scene, stream, content)
            try:
                scene.service.payloads.fetch("default", reference.reference_id)
            except PayloadError as wrong:
                missing.append(wrong)
            scene.expire(stream)

    stop = threading.Event()

    def sweep() -> None:
        # Longer and longer apart: on a slow machine no producer would ever come in between.
        for pause in range(10**6):
            if stop.wait(pause / 1000):
                return
            scene.age()
            scene.service.sweep()

    sweeper = threading.Thread(target=sweep)
    sweeper.start()
    threads = [threading.Thread(target=produce, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    stop.set()
    sweeper.join(60)
    assert not any(thread.is_alive() for thread in (*threads, sweeper))
    assert missing == []

    # Whatever is still referred to is there; and once nothing is, nothing is left.
    kept = scene.stream("kept")
    scene.append(kept, scene.upload(content))
    assert len(scene.objects) >= 1
    scene.expire(kept)
    for _ in range(3):
        scene.age()
        scene.retry()
        scene.change("UPDATE {workflow_payloads} SET attempt_until = 0")
        scene.service.sweep()
    assert scene.objects == []
    assert (scene.count("workflow_payloads"), scene.count("workflow_claims"), scene.count("workflow_items")) == (
        0,
        0,
        0,
    )
