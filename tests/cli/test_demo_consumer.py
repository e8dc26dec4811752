"""The recipe: whatever instant the consumer dies at, its text and its place still belong together."""

import os
import pathlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import tailrace
from tailrace.cli.demo import consumer
from tailrace.cli.demo.stage import TOPIC, Stage
from tailrace.cli.demo.text import events
from tailrace.cli.demo.verdict import judge

CONTENT = b"one two  three\nfour five six seven eight nine \xff ten"


class Killed(BaseException):
    """Stands for SIGKILL: nothing in the consumer may handle it."""


class StageInMemory(Stage):
    """A stage whose store lives in this process."""

    @property
    def store(self) -> str:
        return f"memory://{self.directory}"


class Fuse:
    """Dies at the n-th step that leaves a trace on disk, just before or just after it happens."""

    def __init__(self, at: int, *, before: bool) -> None:
        self.left = at
        self._before = before

    def around(self, step: Callable[..., object]) -> Callable[..., object]:
        def stepped(*arguments: object, **options: object) -> object:
            self.left -= 1
            if self._before and self.left == 0:
                raise Killed
            result = step(*arguments, **options)
            if not self._before and self.left == 0:
                raise Killed
            return result

        return stepped


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    # Small commits, by count alone, so that a short text has many of them.
    monkeypatch.setattr(consumer, "COMMIT_RECORDS", 3)
    monkeypatch.setattr(consumer, "COMMIT_SECONDS", 1e6)
    stage = StageInMemory(tmp_path)
    stage.input.write_bytes(CONTENT)
    with tailrace.connect(stage.store) as streams:
        streams.topic(TOPIC).append_many(events(CONTENT))
        streams.topic(TOPIC).seal()
        yield stage


def forget(stage: Stage) -> None:
    for path in (stage.output, stage.place, stage.deliveries):
        path.unlink(missing_ok=True)


def lives_until_done(stage: Stage, monkeypatch: pytest.MonkeyPatch, fuse: Fuse) -> int:
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fuse.around(os.fsync))
        patched.setattr(os, "write", fuse.around(os.write))
        patched.setattr(pathlib.Path, "replace", fuse.around(pathlib.Path.replace))
        try:
            consumer.consume(stage)
        except Killed:
            pass
        else:
            return 1
    consumer.consume(stage)
    return 2


@pytest.mark.parametrize("before", [True, False])
def test_killed_at_any_step_it_goes_on_exactly(stage: Stage, monkeypatch: pytest.MonkeyPatch, before: bool) -> None:
    total = len(events(CONTENT))
    redelivered = 0
    for step in range(1, 1000):
        forget(stage)
        lives = lives_until_done(stage, monkeypatch, Fuse(step, before=before))
        verdict = judge(stage, total)
        assert verdict.good, (step, verdict)
        redelivered += verdict.redelivered
        if lives == 1:
            break
    assert step > 2 * total
    assert redelivered


def test_a_text_that_somebody_shortened_is_noticed(stage: Stage) -> None:
    consumer.consume(stage)
    stage.output.write_bytes(CONTENT[:-1])
    with pytest.raises(SystemExit, match="somebody changed it"):
        consumer.consume(stage)


def test_a_consumer_that_finished_may_be_started_again(stage: Stage) -> None:
    consumer.consume(stage)
    consumer.consume(stage)
    verdict = judge(stage, len(events(CONTENT)))
    assert verdict.good
    assert verdict.redelivered == 0
