"""S28: deleting an object beside whoever uploads, claims, holds or deletes it, in every order; and after a crash."""

import contextlib
import threading
from collections.abc import Callable
from functools import partial

import pytest
from tests.workflow.payloads.scene import Gate, Scene, beside
from typing_extensions import override

from tailrace.errors import InvalidArgumentError
from tailrace.spi import Ask, Database, Watch
from tailrace.spi.relational import Work
from tailrace.workflow.errors import InvalidFieldsError
from tailrace.workflow.model import NewItem, StreamRef
from tailrace.workflow.payloads import (
    Digest,
    DirectReference,
    PayloadError,
    PayloadExpiredError,
    PayloadNotFoundError,
    PayloadUnavailableError,
    RuntimeReference,
)
from tailrace.workflow.payloads.errors import PayloadHeldError
from tailrace.workflow.payloads.places import address
from tailrace.workflow.payloads.release import PayloadRelease
from tailrace.workflow.payloads.storage import Storage
from tailrace.workflow.store import retention


class Killed(BaseException):
    """What ends a process in the middle of something: nothing catches it."""


def sha256(content: bytes) -> bytes:
    return bytes.fromhex(Digest.of(content).sha256)


def uploaded_and_appended(scene: Scene, stream: StreamRef, content: bytes) -> RuntimeReference:
    """Do as a client does, whose uploads may be discarded before it refers to them: again."""
    while True:
        with contextlib.suppress(PayloadExpiredError, PayloadNotFoundError, PayloadUnavailableError):
            reference = scene.upload(content)
            scene.append(stream, reference)
            return reference


def killed() -> None:
    raise Killed


def nothing_is_left(scene: Scene) -> bool:
    return not any(map(scene.count, ("workflow_payloads", "workflow_claims", "workflow_items")))


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

    with beside(scene.service.sweep) as swept:
        gate.reached()
        assert scene.upload() == reference
        assert scene.objects == [reference.reference_id] * 2
        scene.append(scene.stream("t"), reference)
        gate.open()

    assert [result.payloads for result in swept] == [1]  # type: ignore[attr-defined]
    assert scene.objects == [reference.reference_id]
    assert scene.service.payloads.fetch("default", reference.reference_id)[1] == b"payload"


def test_what_is_being_deleted_can_not_be_claimed(scene: Scene) -> None:
    stream, reference = scene.stream("s"), scene.upload()
    scene.append(stream, reference)
    scene.age()
    scene.expire(stream)
    gate = Gate()
    scene.driver.before["delete"] = gate

    with beside(scene.service.sweep):
        gate.reached()
        with pytest.raises(PayloadExpiredError):
            scene.append(scene.stream("t"), reference)
        gate.open()

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

    with beside(scene.service.sweep):
        gate.reached()
        with pytest.raises(PayloadUnavailableError):
            scene.append(scene.stream("t"), stored)
        gate.open()

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

    def sweep(service: object) -> Callable[[], object]:
        def run() -> object:
            together.wait(60)
            return service.sweep()  # type: ignore[attr-defined]

        return run

    with beside(sweep(scene.service)) as first, beside(sweep(other)) as second:
        pass
    assert not any(isinstance(result, Exception) for result in (*first, *second))
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

    with beside(scene.service.sweep) as first:
        gate.reached()
        second = scene.open(scene.driver).sweep()
        assert (second.payloads, second.streams, second.failed) == (0, 0, 0)
        gate.open()

    assert [(result.payloads, result.streams) for result in first] == [(1, 1)]  # type: ignore[attr-defined]


@pytest.mark.parametrize("claimed", [True, False])
def test_what_a_killed_sweep_has_begun_is_ended_by_a_later_one(scene: Scene, claimed: bool) -> None:
    stream, reference = scene.stream("s"), scene.upload()
    if claimed:
        scene.append(stream, reference)
        scene.expire(stream)
    scene.age()

    scene.driver.before["delete"] = killed
    with pytest.raises(Killed):
        scene.service.sweep()
    assert scene.objects == [reference.reference_id]

    # The other one might be slow, and not dead.
    assert scene.service.sweep().payloads == 0
    scene.change("UPDATE {workflow_payloads} SET attempt_until = 1")
    assert scene.service.sweep().payloads == 1
    assert scene.objects == []
    assert (scene.count("workflow_payloads"), scene.count("workflow_claims"), scene.count("workflow_items")) == (
        0,
        0,
        0,
    )


def test_an_upload_that_was_killed_leaves_nothing_for_ever(scene: Scene) -> None:
    scene.driver.before["put"] = killed
    with pytest.raises(Killed):
        scene.upload()
    scene.age()

    assert scene.service.sweep().payloads == 1
    assert scene.count("workflow_payloads") == 0


def test_an_upload_that_takes_longer_than_the_grace_is_refused_and_leaves_nothing(scene: Scene) -> None:
    def meanwhile() -> None:
        scene.age()
        scene.service.sweep()

    scene.driver.before["put"] = meanwhile
    with pytest.raises(PayloadUnavailableError):
        scene.upload()

    assert scene.objects == []


def test_a_run_is_never_deleted_with_a_claim_in_it(scene: Scene) -> None:
    stream = scene.stream("s")
    scene.append(stream, scene.upload())

    # As when the item was appended after the last look at what the run claims.
    with pytest.raises(PayloadUnavailableError):
        scene.database.change(partial(retention.delete_run, run=stream.run), 10.0)

    assert scene.service.describe(stream).total_items == 1


def test_one_blocked_stream_does_not_keep_others(scene: Scene) -> None:
    blocked, other = scene.stream("a"), scene.stream("b")
    scene.append(blocked, scene.upload(b"one"))
    scene.append(other, scene.upload(b"two"))
    scene.age()
    scene.expire(blocked)
    scene.expire(other)
    # Its object is in a storage that is not configured any more.
    scene.change("UPDATE {workflow_payloads} SET uri = ? WHERE sha256 = ?", b"s3://gone/x", sha256(b"one"))

    result = scene.service.sweep()

    assert (result.payloads, result.streams, result.failed) == (1, 1, 1)
    assert [stream.stream_name for stream in scene.service.list_streams(blocked.run)] == []
    assert scene.count("workflow_items") == 1


def test_many_payloads_go_in_passes_that_keep_to_their_budget(scene: Scene) -> None:
    small = scene.open(scene.driver, sweep_transactions=7)
    stream = scene.stream("s")
    scene.append(stream, *(scene.upload(b"%d" % number) for number in range(20)))
    scene.upload(b"unclaimed")
    scene.age()
    scene.expire(stream)

    passes = [small.sweep()]
    while not passes[-1].done:
        assert len(passes) < 20
        passes.append(small.sweep())

    assert max(result.payloads for result in passes) <= 7
    assert sum(result.payloads for result in passes) == 21
    assert sum(result.streams for result in passes) == 1
    assert scene.objects == []
    assert scene.count("workflow_items") == 0


def test_a_hold_waits_for_a_deletion_that_had_begun(scene: Scene) -> None:
    scene.upload()
    scene.age()
    gate = Gate()
    scene.driver.before["delete"] = gate

    with beside(scene.service.sweep):
        gate.reached()
        with pytest.raises(PayloadUnavailableError):
            scene.service.holds.place("default", "nightly", lasting=60, patience=0.05)
        with beside(lambda: scene.service.holds.place("default", "nightly", lasting=60)) as placed:
            gate.open()

    assert [hold.name for hold in placed] == ["nightly"]  # type: ignore[attr-defined]
    assert scene.objects == []


class Afterwards(Database):
    """A database that calls a function after its next transaction."""

    def __init__(self, database: Database, then: Callable[[], object]) -> None:
        self._database = database
        self._then = then

    @override
    def change(self, work: "Work[object]", timeout: float) -> object:  # type: ignore[override]
        result = self._database.change(work, timeout)
        then, self._then = self._then, lambda: None
        then()
        return result

    @override
    def look(self, work: Callable[[Ask], object]) -> object:  # type: ignore[override]
        return self._database.look(work)

    @override
    def watch(self) -> Watch:
        return self._database.watch()


def test_a_hold_that_comes_between_the_decision_to_delete_and_the_deletion_stops_it(scene: Scene) -> None:
    stream = scene.stream("s")
    scene.append(stream, scene.upload())
    scene.age()

    def hold() -> None:
        # It does not return before the deletion has ended, or was given up: so beside it.
        with pytest.raises(PayloadUnavailableError):
            scene.service.holds.place("default", "nightly", lasting=3600, patience=0.01)

    release = PayloadRelease(
        Afterwards(scene.database, hold), Storage(scene.driver), scene.service.payloads.grace, 10.0
    )
    with pytest.raises(PayloadHeldError):
        release.release_run(scene.run_id(stream.run), 10)

    assert len(scene.objects) == 1
    # Nothing is under way any more.
    scene.service.holds.place("default", "nightly", lasting=3600)
    scene.service.holds.lift("default", "nightly")
    assert scene.service.delete_run(stream.run)
    assert scene.objects == []


def test_a_hold_keeps_one_namespace_until_it_is_lifted_or_ends(scene: Scene) -> None:
    scene.upload()
    scene.upload(namespace="other")
    scene.age()
    holds = scene.service.holds
    holds.place("default", "nightly", lasting=3600)
    holds.place("default", "weekly", lasting=3600)
    again = holds.place("default", "nightly", lasting=7200)

    assert [hold.name for hold in holds.on("default")] == ["nightly", "weekly"]
    assert again.ends_at - again.placed_at == 7_200_000_000
    assert holds.on("other") == []
    result = scene.service.sweep()
    assert (result.payloads, result.held) == (1, 1)

    holds.lift("default", "nightly")
    holds.lift("default", "never placed")
    # As if it were a backup that has died.
    scene.change("UPDATE {workflow_holds} SET ends_at = {now}")
    assert holds.on("default") == []
    scene.retry()
    assert scene.service.sweep().payloads == 1


def test_what_is_wrong_with_a_hold_is_told(scene: Scene) -> None:
    for name in ("", "x" * 192, "a\0"):
        with pytest.raises(InvalidFieldsError):
            scene.service.holds.place("default", name, lasting=1)
    with pytest.raises(InvalidArgumentError):
        scene.service.holds.place("default", "nightly", lasting=0)


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
        while not stop.is_set():
            scene.age()
            scene.service.sweep()

    sweeper = threading.Thread(target=sweep)
    sweeper.start()
    threads = [threading.Thread(target=produce, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stop.set()
    sweeper.join()
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


def test_an_item_without_a_reference_asks_nothing_of_the_storage(scene: Scene) -> None:
    with scene.storage_away():
        scene.service.append(scene.stream("s"), [NewItem(payload=b'{"external_":1}'), NewItem()])
    assert scene.count("workflow_items") == 2
