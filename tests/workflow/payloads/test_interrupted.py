"""S28: what is left of an upload or a deletion that did not come to its end, and who ends it."""

from functools import partial

import pytest
from tests.workflow.payloads.scene import Scene

from tailrace.workflow.payloads import (
    Digest,
    PayloadUnavailableError,
)
from tailrace.workflow.store import retention


class Killed(BaseException):
    """What ends a process in the middle of something: nothing catches it."""


def sha256(content: bytes) -> bytes:
    return bytes.fromhex(Digest.of(content).sha256)


def killed() -> None:
    raise Killed


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
    assert scene.stores_nothing
    assert not scene.service.delete_run(stream.run)


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
