"""S28: what becomes of the object of a payload when a stream is reclaimed or a run is pruned: five cases each."""

from abc import ABC, abstractmethod

from tests.workflow.payloads.scene import Scene
from typing_extensions import override

from tailrace.workflow.model import StreamRef, SweepResult


class Cases(ABC):
    """The five cases, whichever way the stream goes."""

    @abstractmethod
    def let_go(self, scene: Scene, stream: StreamRef) -> None:
        """Make the time of the stream, or of its run, come."""

    @abstractmethod
    def gone(self, scene: Scene, stream: StreamRef) -> bool:
        """Whether everything is gone that had to go."""

    def stays(self, scene: Scene, stream: StreamRef) -> bool:
        """Whether nothing is gone: object, items, stream, run."""
        return len(scene.objects) == 1 and scene.count("workflow_items") == 1 and scene.count("workflow_runs") == 1

    def test_only_reference_the_object_goes_and_the_rows(self, scene: Scene) -> None:
        stream = self.prepared(scene)

        result = scene.service.sweep()

        assert (result.payloads, result.failed, result.held) == (1, 0, 0)
        assert scene.objects == []
        assert self.gone(scene, stream)
        assert self.rows_of_payloads(scene) == (0, 0)

    def test_shared_with_a_retained_stream_the_object_stays(self, scene: Scene) -> None:
        stream = scene.stream("one")
        reference = scene.upload()
        scene.append(stream, reference)
        scene.append(scene.stream("two", run="another"), reference)
        scene.age()
        self.let_go(scene, stream)

        result = scene.service.sweep()

        assert (result.payloads, result.failed, result.held) == (0, 0, 0)
        assert self.gone(scene, stream)
        assert scene.objects == [reference.reference_id]
        assert self.rows_of_payloads(scene) == (1, 1)
        assert scene.service.payloads.fetch("default", reference.reference_id)[1] == b"payload"

    def test_backup_hold_the_object_stays_and_the_rows(self, scene: Scene) -> None:
        stream = self.prepared(scene)
        scene.service.holds.place("default", "nightly", lasting=3600)

        result = scene.service.sweep()

        assert (result.payloads, result.failed, result.held) == (0, 0, 1)
        assert self.stays(scene, stream)

        scene.service.holds.lift("default", "nightly")
        scene.retry()
        assert scene.service.sweep().held == 0
        assert scene.objects == []
        assert self.gone(scene, stream)

    def test_blocked_driver_the_rows_stay_and_the_run(self, scene: Scene) -> None:
        stream = self.prepared(scene)
        # As after a change of the configuration: nobody can delete from a storage that is not configured.
        without = scene.open(None)

        for _ in range(2):
            result = without.sweep()
            assert (result.payloads, result.failed, result.held) == (0, 1, 0)
            assert self.stays(scene, stream)
            scene.retry()

        assert scene.service.sweep().payloads == 1
        assert self.gone(scene, stream)

    def test_storage_failing_then_recovered_is_tried_again_and_then_all_is_gone(self, scene: Scene) -> None:
        stream = self.prepared(scene)

        with scene.storage_away():
            result = scene.service.sweep()
            assert (result.payloads, result.failed) == (0, 1)
            assert scene.count("workflow_items") == 1
            # Until then it is in nobody's way.
            assert scene.service.sweep() == SweepResult()
        assert self.stays(scene, stream)

        scene.retry()
        result = scene.service.sweep()
        assert (result.payloads, result.failed) == (1, 0)
        assert scene.objects == []
        assert self.gone(scene, stream)
        assert self.rows_of_payloads(scene) == (0, 0)

    def prepared(self, scene: Scene) -> StreamRef:
        """Return a stream whose time has come, with one item whose payload is older than the grace."""
        stream = scene.stream("one")
        scene.append(stream, scene.upload())
        scene.age()
        self.let_go(scene, stream)
        assert self.stays(scene, stream)
        return stream

    def rows_of_payloads(self, scene: Scene) -> tuple[int, int]:
        return scene.count("workflow_payloads"), scene.count("workflow_claims")


class TestReclamation(Cases):
    @override
    def let_go(self, scene: Scene, stream: StreamRef) -> None:
        scene.expire(stream)

    @override
    def gone(self, scene: Scene, stream: StreamRef) -> bool:
        # The run stays, with a tombstone.
        items = scene.service.list_streams(stream.run)
        left = 1 if scene.count("workflow_runs") == 2 else 0
        return items == [] and scene.count("workflow_items") == left


class TestPruning(Cases):
    @override
    def let_go(self, scene: Scene, stream: StreamRef) -> None:
        scene.service.end_run(stream.run)

    @override
    def gone(self, scene: Scene, stream: StreamRef) -> bool:
        # Another run may be there, with one item.
        runs = scene.count("workflow_runs")
        return (
            stream.run.run_id not in self._runs(scene)
            and scene.count("workflow_streams") == runs
            and scene.count("workflow_items") == runs
        )

    def _runs(self, scene: Scene) -> set[str]:
        return {run.run_id for run in scene.runs()}
