"""The play: start both roles, kill the consumer at the planned points, let it finish, judge.

The referee is the only one that sees the input, the output and the evidence.
"""

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass

import tailrace
from tailrace.cli.demo.actors import Actor
from tailrace.cli.demo.deliveries import Deliveries
from tailrace.cli.demo.plan import Kill, kills
from tailrace.cli.demo.show import Show
from tailrace.cli.demo.stage import TOPIC, Stage
from tailrace.cli.demo.text import events, held_back
from tailrace.cli.demo.verdict import Verdict, judge

DEADLINE = 58.0
"""Seconds for the whole play, whatever the machine does."""

_GLANCE = 0.002
"""Seconds between looks at the evidence."""


class PlayFailed(Exception):  # noqa: N818 - the play, not the programme, failed
    """A role ended by itself or time ran out; there is nothing to judge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """What is to be played."""

    seed: int
    kills: int
    kill_worker: bool
    seconds: float


class Referee:
    """Plays one demo on a stage whose input is in place."""

    def __init__(self, stage: Stage, play: Play, show: Show) -> None:
        self._stage = stage
        self._play = play
        self._show = show
        self._total = len(events(stage.input.read_bytes()))
        self._evidence = Deliveries(stage.deliveries)
        self._worker = Actor("worker", stage, str(play.seconds))
        self._consumer = Actor("consumer", stage)
        self._deadline = time.monotonic() + DEADLINE

    def perform(self) -> Verdict:
        """Play to the end.

        Raises:
            PlayFailed: A role failed by itself, or it took too long.
        """
        with contextlib.ExitStack() as gone:
            gone.callback(self._consumer.kill)
            gone.callback(self._worker.kill)
            self._open_store()
            self._show.begins(self._total)
            self._worker.start()
            self._consumer.start()
            for number, kill in enumerate(kills(self._play.seed, self._play.kills, self._total), start=1):
                self._kill(number, kill)
            self._stage.release.touch()
            self._until(lambda: self._worker.status == 0 and self._consumer.status == 0)
            self._show.reached(self._evidence.reached)
        return judge(self._stage, self._total)

    def _open_store(self) -> None:
        # Made once, here, so that neither role's start depends on the other's.
        with tailrace.connect(self._stage.store) as client:
            client.topic(TOPIC).checkpoint()

    def _kill(self, number: int, kill: Kill) -> None:
        self._until(lambda: self._is_due(number, kill))
        time.sleep(kill.delay)
        pid = self._consumer.pid
        self._consumer.kill()
        self._evidence.look()
        self._show.killed(number, "consumer", pid, self._evidence.reached)
        if self._play.kill_worker:
            pid = self._worker.pid
            self._worker.kill()
            self._show.killed(number, "worker", pid, self._evidence.reached)
            self._worker.start()
        self._consumer.start()

    def _is_due(self, number: int, kill: Kill) -> bool:
        lives, reached = self._evidence.lives, self._evidence.reached
        # A life that has only just begun is left to get something first, unless the worker is holding back
        # and there is nothing to get: each kill hits a consumer at work.
        at_work = len(lives) == number and (lives[-1].numbers or reached >= held_back(self._total))
        return bool(at_work) and reached >= kill.after

    def _until(self, condition: Callable[[], bool]) -> None:
        while True:
            self._evidence.look()
            self._show.reached(self._evidence.reached)
            if condition():
                return
            for actor in (self._worker, self._consumer):
                if actor.status:
                    raise PlayFailed(f"the {actor.role} failed: {actor.last_words()}")
            if time.monotonic() > self._deadline:
                raise PlayFailed(
                    f"not finished after {DEADLINE:g} seconds: this machine is very busy, or something hangs"
                )
            time.sleep(_GLANCE)
