"""S28: while a backup holds a namespace no object of it is deleted, whichever of the two came first."""

from collections.abc import Callable
from typing import TypeVar

import pytest
from tests.workflow.databases import Between
from tests.workflow.payloads.scene import Gate, Scene
from typing_extensions import override

from tailrace.errors import InvalidArgumentError
from tailrace.spi import Database
from tailrace.spi.relational import Work
from tailrace.testing.reading import Background
from tailrace.workflow.errors import InvalidFieldsError
from tailrace.workflow.payloads import PayloadUnavailableError
from tailrace.workflow.payloads.errors import PayloadHeldError
from tailrace.workflow.payloads.release import PayloadRelease
from tailrace.workflow.payloads.storage import Storage

T = TypeVar("T")


def test_a_hold_waits_for_a_deletion_that_had_begun(scene: Scene) -> None:
    scene.upload()
    scene.age()
    gate = Gate()
    scene.driver.before["delete"] = gate

    sweeping = Background(scene.service.sweep)
    gate.reached()
    with pytest.raises(PayloadUnavailableError):
        scene.service.holds.place("default", "nightly", lasting=60, patience=0.05)
    placing = Background(lambda: scene.service.holds.place("default", "nightly", lasting=60))
    gate.open()

    assert placing.result().name == "nightly"
    assert sweeping.result().payloads == 1
    assert scene.objects == []


class Afterwards(Between):
    """A database that calls a function after its next transaction."""

    def __init__(self, database: Database, then: Callable[[], object]) -> None:
        super().__init__(database)
        self._then = then

    @override
    def change(self, work: Work[T], timeout: float) -> T:
        result = super().change(work, timeout)
        then, self._then = self._then, lambda: None
        then()
        return result


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
