"""A flag that is turned again and again, sooner than a handover takes or later, while events come."""

import itertools
import secrets
import threading
import time
from collections.abc import Iterator

import pytest
from tests.rollout.fixtures import Deploy, Deployment, settled

from tailrace.rollout import Phase
from tailrace.testing.broadcast.listening import hear
from tailrace.testing.reading import PATIENCE, Background
from tailrace.testing.servers.redis import RedisServer

TURNS, EVENTS = 8, 40
OVERLAPS = [0.15, 0.6, 2.4, 9.6]


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


class Producer:
    """Publishes ``NUMBER:COUNT`` until it is told to stop.

    Attributes:
        longest: Seconds that one publishing took, at most.
    """

    def __init__(self, running: Deployment, number: int) -> None:
        self.number = number
        self.count = 0
        self.longest = 0.0
        self.over = threading.Event()
        self._topic = running.process(str(number), Phase.WRITE_BOTH).topic("t")

    def run(self) -> None:
        while not self.over.wait(0.002):
            began = time.monotonic()
            self._topic.publish(b"%d:%d" % (self.number, self.count))
            self.longest = max(self.longest, time.monotonic() - began)
            self.count += 1


@pytest.mark.parametrize("form", ["memory", "pubsub", pytest.param("streams", marks=pytest.mark.long)])
def test_no_event_is_lost_or_comes_twice(deployment: Deploy, server: RedisServer, form: str) -> None:
    for overlap in OVERLAPS:
        url = "memory://" if form == "memory" else f"{server.url}?mode={form}&prefix=flips-{secrets.token_hex(4)}"
        with deployment(channel_url=url, overlap=overlap, buffer_messages=100_000) as running:
            heard, producers = _turn_again_and_again(running)
        # On a busy machine one publishing may take longer than the handover, and then nothing is promised.
        if max(producer.longest for producer in producers) < overlap:
            break
    for producer in producers:
        mine = [event for event in heard if event.startswith(b"%d:" % producer.number)]
        assert mine == [b"%d:%d" % (producer.number, count) for count in range(producer.count)]


def _turn_again_and_again(running: Deployment) -> tuple[list[bytes], list[Producer]]:
    producers = [Producer(running, number) for number in range(2)]
    phases = itertools.cycle([Phase.READ_DURABLE, Phase.WRITE_BOTH])
    pauses = itertools.cycle([0.01, 0.05, 2 * running.overlap])
    heard: list[bytes] = []
    with running.process("l", Phase.WRITE_BOTH).topic("t").subscribe() as subscription:
        publishing = [Background(producer.run) for producer in producers]
        turns, turn, patience = 0, 0.0, time.monotonic() + PATIENCE
        while turns < TURNS or min(producer.count for producer in producers) < EVENTS:
            assert time.monotonic() < patience
            if time.monotonic() > turn:
                turns, turn, phase = turns + 1, time.monotonic() + next(pauses), next(phases)
                running.at = dict.fromkeys(running.at, phase)
            event = subscription.receive(0.02)
            heard += [event] if isinstance(event, bytes) else []
        for producer in producers:
            producer.over.set()
        for one in publishing:
            one.result()
        # One that was lost does not come, and one that came twice is there.
        heard += settled(subscription)
        heard += hear(subscription, sum(producer.count for producer in producers) - len(heard))
    return heard, producers
