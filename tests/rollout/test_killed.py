"""There and back again under load, in processes of which some are killed in each phase: nothing lost, nothing twice."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.rollout.crew import Listener, Member, Producer, settle
from tests.rollout.process import TOPIC
from tests.rollout.verdict import heard_by, heard_of, judge, last_done

import tailrace
from tailrace.rollout import Phase
from tailrace.testing.servers.redis import RedisServer

THERE = [Phase.BROADCAST, Phase.WRITE_BOTH, Phase.READ_DURABLE, Phase.DURABLE]
AND_BACK = [Phase.READ_DURABLE, Phase.WRITE_BOTH, Phase.BROADCAST]


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


class Deployment:
    """Producers and listeners, and what became of the events that a killed producer left behind."""

    def __init__(self, folder: Path, overlap: float, urls: tuple[str, str], colours: list[str], first: Phase) -> None:
        self._folder = folder
        self._random = random.Random(str(urls))
        self.store_url = urls[1]
        self.listeners = [Listener(n, folder, colour, overlap, urls, first) for n, colour in enumerate(colours)]
        for listener in self.listeners:
            listener.wait_for_life(1)
        self.producers = [Producer(n, folder, colour, overlap, urls, first) for n, colour in enumerate(colours)]
        self.members: list[Member] = [*self.listeners, *self.producers]
        self.left: list[tuple[Producer, int, Phase, bool]] = []
        self.publish_more(5)

    def publish_more(self, count: int) -> None:
        for producer in self.producers:
            producer.publish_more(count)

    def turn(self, phase: Phase) -> None:
        """Tell all of a phase, one after the other, while events are published; kill a producer on the way."""
        self._random.shuffle(self.members)
        for member in self.members:
            member.turn(phase)
            self.publish_more(3)
        self.kill_producer(settled=False)
        if phase is Phase.WRITE_BOTH:
            self.kill_listener_on_its_way_back()
        settle(self.listeners)
        self.publish_more(10)

    def kill_producer(self, *, settled: bool) -> None:
        producer = self._random.choice(self.producers)
        count = producer.killed()
        if count is not None:
            self.left.append((producer, count, producer.phase, settled))
        producer.start()
        producer.publish_more(3)

    def kill_listener(self) -> None:
        listener = self._random.choice(self.listeners)
        listener.kill()
        self.publish_more(5)
        listener.restart()
        settle(self.listeners)
        self.publish_more(5)

    def kill_listener_on_its_way_back(self) -> None:
        for listener in self.listeners:
            if listener.at_both:
                listener.kill()
                assert listener.at_both
                listener.restart()
                return

    def finish(self) -> None:
        """End all, when all is heard."""
        (self._folder / "produce.over").touch()
        for producer in self.producers:
            producer.over()
        for listener in self.listeners:
            for producer in self.producers:
                listener.wait(
                    lambda: heard_of(listener, producer)[-1].count >= last_done(producer),  # noqa: B023 - as above
                    "has heard everything",
                )
        time.sleep(0.3)
        (self._folder / "listen.over").touch()
        for listener in self.listeners:
            listener.over()

    def stop(self) -> None:
        for member in self.members:
            member.stop()


def _check(running: Deployment) -> None:
    for listener in running.listeners:
        for producer in running.producers:
            judge(listener, producer)
    with tailrace.connect(running.store_url) as streams, streams.topic(TOPIC).subscribe_from_beginning() as reading:
        kept = []
        while isinstance(record := reading.receive(0), tailrace.DurableStreamRecord):
            kept.append(record.payload.decode())
    assert len(kept) == len(set(kept))
    for producer, count, phase, settled in running.left:
        heard, is_kept = heard_by(running.listeners, producer, count), f"{producer.number}:{count}" in kept
        if phase.writes_stream:
            assert is_kept or not any(heard), "published before it was appended"
        if not settled:
            continue
        if phase.reads_stream:
            assert heard == [is_kept] * len(heard), "a listener at the stream hears what is in it"
        else:
            assert len(set(heard)) == 1, "listeners at the channel hear the same"


@pytest.mark.parametrize(
    ("form", "store", "colours", "path", "overlap"),
    [
        pytest.param("pubsub", "redis", ["sync"], THERE[1:3], 1.0, id="smoke"),
        *(
            pytest.param(
                form, store, ["sync", "asyncio"], THERE + AND_BACK, 5.0, marks=pytest.mark.long, id=f"{form}-{store}"
            )
            for form, store in [("pubsub", "redis"), ("streams", "redis"), ("pubsub", "sqlite"), ("sharded", "sqlite")]
        ),
    ],
)
def test_whoever_is_killed_in_any_phase_no_event_is_lost_or_comes_twice(
    server: RedisServer, tmp_path: Path, form: str, store: str, colours: list[str], path: list[Phase], overlap: float
) -> None:
    prefix = f"{form}-{store}-{len(path)}"
    store_url = f"{server.url}?prefix={prefix}" if store == "redis" else f"sqlite:///{tmp_path}/events.db"
    running = Deployment(tmp_path, overlap, (f"{server.url}?mode={form}&prefix={prefix}", store_url), colours, path[0])
    try:
        for phase in path[1:]:
            if len(path) > 2:
                running.kill_producer(settled=True)
                running.kill_listener()
            running.turn(phase)
        running.kill_producer(settled=True)
        running.kill_listener()
        running.finish()
        _check(running)
    finally:
        running.stop()
