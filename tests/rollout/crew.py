"""Processes of a deployment as their operator has them: started, told of a phase, killed, and asked what they did."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.rollout.process import lines

from tailrace.rollout import Phase
from tailrace.testing.servers.waiting import until

TOP = Path(__file__).parents[2]
PATIENCE = 90.0


class Member:
    """One process and those that took its place, with one log."""

    what = ""

    def __init__(self, number: int, folder: Path, colour: str, overlap: float, urls: tuple[str, str]) -> None:
        self.number = number
        self.colour = colour
        self._folder = folder
        self._name = f"{self.what}-{number}"
        self._arguments = [self.what, colour, str(number), str(folder), str(overlap), *urls]
        self.turn(Phase.BROADCAST)
        self._said = (folder / f"{self._name}.err").open("ab")
        self.start()

    @property
    def log(self) -> list[list[str]]:
        return lines(self._folder / f"{self._name}.log")

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

    def error(self) -> str:
        return (self._folder / f"{self._name}.err").read_text()

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for what it does."""

        def seen() -> bool:
            assert self._process.poll() is None, self.error()
            return condition()

        until(seen, f"{self._name}: {what}", timeout=PATIENCE)


class Producer(Member):
    """Publishes ``NUMBER:COUNT``."""

    what = "produce"

    @property
    def done(self) -> dict[int, float]:
        return self._times("done")

    @property
    def begun(self) -> dict[int, float]:
        return self._times("begun")

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

    def start(self) -> None:
        self._left: set[int] = getattr(self, "_left", set())
        super().start()

    def _times(self, step: str) -> dict[int, float]:
        return {int(line[1]): float(line[2]) for line in self.log if line[0] == step}


class Listener(Member):
    """Goes on at its place after a restart, if it has one."""

    what = "listen"

    @property
    def at_both(self) -> bool:
        return self._state()[0] == "both"

    @property
    def settled(self) -> bool:
        """Whether it follows one way only: the one of its phase."""
        state, cursor = self._state()
        return state == "one" and (cursor != "-") == self.phase.reads_stream

    @property
    def lives(self) -> int:
        return sum(line[0] == "entered" for line in self.log)

    def restart(self) -> None:
        lives = self.lives
        self.start()
        self.wait(lambda: self.lives > lives, "has entered")

    def _state(self) -> tuple[str, str]:
        states = [line for line in self.log if line[0] in ("one", "both", "entered")]
        return (states[-1][0], states[-1][1]) if states else ("", "-")


def settle(listeners: Iterable[Listener]) -> None:
    """Wait until all are where their phase says."""
    for listener in listeners:
        listener.wait(lambda: listener.settled, f"has arrived at {listener.phase}")  # noqa: B023 - waited for here
