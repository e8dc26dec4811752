"""Processes of a deployment as their operator has them: started, told of a phase, killed, and asked what they did."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from typing_extensions import override

from tailrace.rollout import Phase
from tailrace.testing.servers.waiting import until

TOP = Path(__file__).parents[2]
PATIENCE = 90.0


class Member:
    """One process and those that took its place, with one log."""

    what = ""

    def __init__(
        self, number: int, folder: Path, colour: str, overlap: float, urls: tuple[str, str], first: Phase
    ) -> None:
        self.number = number
        self.colour = colour
        self._folder = folder
        self._name = f"{self.what}-{number}"
        self._arguments = [self.what, colour, str(number), str(folder), str(overlap), *urls]
        self.turn(first)
        self._said = (folder / f"{self._name}.err").open("ab")
        path = folder / f"{self._name}.log"
        path.touch()
        self._log = path.open()
        self._read: list[list[str]] = []
        self.start()

    @property
    def log(self) -> list[list[str]]:
        """What it has done so far, in words."""
        # Lines are written whole; what was read stays read.
        for line in self._log:
            self._note(line.rstrip("\n").split(" "))
        return self._read

    def _note(self, words: list[str]) -> None:
        self._read.append(words)

    def turn(self, phase: Phase) -> None:
        """Tell it of a phase."""
        self.phase = phase
        fresh = self._folder / f"{self._name}.fresh"
        fresh.write_text(phase.value)
        fresh.replace(self._folder / f"{self._name}.phase")

    def start(self) -> None:
        command = [sys.executable, "-m", "tests.rollout.process", *self._arguments]
        self._process = subprocess.Popen(command, cwd=TOP, stderr=self._said)

    def kill(self) -> None:
        """Kill it as ``kill -9`` does."""
        assert self._process.poll() is None, self.error()
        self._process.kill()
        self._process.wait()

    def over(self) -> None:
        """Wait until it has ended by itself."""
        assert self._process.wait(PATIENCE) == 0, self.error()

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._said.close()
        self._log.close()

    def error(self) -> str:
        return (self._folder / f"{self._name}.err").read_text()

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for what it does."""

        def seen() -> bool:
            assert self._process.poll() is None, self.error()
            return condition()

        until(seen, f"{self._name}: {what}", timeout=PATIENCE, step=0.05)


class Producer(Member):
    """Publishes ``NUMBER:COUNT``."""

    what = "produce"

    def __init__(self, *settings: Any) -> None:
        self._times: dict[str, dict[int, float]] = {"begun": {}, "done": {}}
        self._left: set[int] = set()
        super().__init__(*settings)

    @property
    def done(self) -> dict[int, float]:
        """When it had published what."""
        assert self.log is not None
        return self._times["done"]

    @property
    def begun(self) -> dict[int, float]:
        """When it began to publish what."""
        assert self.log is not None
        return self._times["begun"]

    def publish_more(self, count: int) -> None:
        """Wait until it has: what was begun before is done then."""
        before = len(self.done)
        self.wait(lambda: len(self.done) >= before + count, "publishes")

    def killed(self) -> int | None:
        """Kill it; return what it had begun and not done."""
        time.sleep(random.Random(len(self.log)).random() * 0.02)
        self.kill()
        left = self.begun.keys() - self.done.keys() - self._left
        self._left |= left
        return next(iter(left), None)

    @override
    def _note(self, words: list[str]) -> None:
        super()._note(words)
        self._times[words[0]][int(words[1])] = float(words[2])


class Listener(Member):
    """Goes on at its place after a restart, if it has one."""

    what = "listen"

    def __init__(self, *settings: Any) -> None:
        self.lives = 0
        self._last = ["", "-"]
        super().__init__(*settings)

    @property
    def at_both(self) -> bool:
        return self._state()[0] == "both"

    @property
    def settled(self) -> bool:
        """Whether it follows one way only: the one of its phase."""
        state, cursor = self._state()
        return state == "one" and (cursor != "-") == self.phase.reads_stream

    def restart(self) -> None:
        """Start it again, and wait until it listens."""
        lives = self.lives
        self.start()
        self.wait_for_life(lives + 1)

    def wait_for_life(self, number: int) -> None:
        """Wait until it listens for the so manyeth time."""
        self.wait(lambda: len(self.log) > 0 and self.lives >= number, "has entered")

    @override
    def _note(self, words: list[str]) -> None:
        super()._note(words)
        self.lives += words[0] == "entered"
        if words[0] != "heard":
            self._last = words

    def _state(self) -> tuple[str, str]:
        assert self.log is not None
        return self._last[0], self._last[1]


def settle(listeners: Iterable[Listener]) -> None:
    """Wait until all are where their phase says."""
    for listener in listeners:
        listener.wait(lambda: listener.settled, f"has arrived at {listener.phase}")  # noqa: B023 - waited for here
