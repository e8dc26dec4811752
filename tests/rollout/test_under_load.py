"""There and back again under load, with processes that are restarted and learn of a new phase at different moments."""

import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.rollout.colours import Colour

from tailrace import broadcast
from tailrace.records import CLOSED
from tailrace.rollout import Phase
from tailrace.testing.broadcast.listening import until
from tailrace.testing.reading import Background
from tailrace.testing.servers.redis import RedisServer

pytestmark = pytest.mark.long

PATH = [Phase.WRITE_BOTH, Phase.READ_DURABLE, Phase.DURABLE, Phase.READ_DURABLE, Phase.WRITE_BOTH, Phase.BROADCAST]
OVERLAP = 5.0
PRODUCERS, LISTENERS = 4, 3


class Process:
    """One with connections of its own, which are new after a restart."""

    def __init__(self, colour: Colour, channel: str, store: str) -> None:
        self.phase = Phase.BROADCAST
        self._colour = colour
        self._urls = (channel, store)
        self._start()

    def topic(self) -> "broadcast.Topic":
        return self.rollout.topic("run:42")

    def restart(self) -> None:
        self.stop()
        self._start()

    def stop(self) -> None:
        self._channel.close()
        self._streams.close()

    def _start(self) -> None:
        self._channel = self._colour.channel(self._urls[0], buffer_messages=100_000)
        self._streams = self._colour.streams(self._urls[1])
        self.rollout = self._colour.rollout(self._channel, self._streams, lambda _: self.phase, OVERLAP)


class Producer(Process):
    """Publishes numbered events until it is told to stop."""

    def __init__(self, number: int, colour: Colour, *urls: str) -> None:
        super().__init__(colour, *urls)
        self.number = number
        self.published = 0
        self.restarts = 0
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.004):
            self.topic().publish(b"%d:%d" % (self.number, self.published))
            self.published += 1
            if self.published % 100 == 0:
                self.restart()
                self.restarts += 1


class Listener(Process):
    """Listens; restarts from where it was, but only while everybody is at the stream."""

    def __init__(self, colour: Colour, *urls: str) -> None:
        super().__init__(colour, *urls)
        self.heard: list[bytes] = []
        self.entered = threading.Event()
        self.may_restart = threading.Event()
        self.restarts = 0
        self.settled = True
        self.over = threading.Event()

    def run(self) -> None:
        cursor = None
        while not self.over.is_set():
            with self.rollout.topic("run:42").subscribe(after=cursor) as subscription:
                self.entered.set()
                while not self.over.is_set():
                    event = subscription.receive(0.2)
                    assert event is not CLOSED
                    if isinstance(event, bytes):
                        self.heard.append(event)
                    at_stream = subscription.cursor is not None and not subscription.at_both
                    self.settled = not subscription.at_both and (event is None or at_stream == self.phase.reads_stream)
                    if self.may_restart.is_set() and at_stream:
                        self.may_restart.clear()
                        break
                cursor = subscription.cursor
            if not self.over.is_set():
                self.restart()
                self.restarts += 1


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.mark.parametrize("form", ["pubsub", "streams"])
@pytest.mark.parametrize("store", ["redis", "sqlite"])
def test_no_event_is_lost_or_comes_twice(
    colour: Colour, server: RedisServer, tmp_path: Path, form: str, store: str
) -> None:
    prefix = f"{colour.name}-{form}-{store}"
    channel_url = f"{server.url}?mode={form}&prefix={prefix}"
    store_url = f"{server.url}?prefix={prefix}" if store == "redis" else f"sqlite:///{tmp_path}/events.db"
    listeners = [Listener(colour, channel_url, store_url) for _ in range(LISTENERS)]
    producers = [Producer(number, colour, channel_url, store_url) for number in range(PRODUCERS)]
    everybody: list[Process] = [*listeners, *producers]
    listening = [Background(listener.run) for listener in listeners]
    for listener in listeners:
        until(listener.entered.is_set, "it listens")
    producing = [Background(producer.run) for producer in producers]
    for phase in PATH:
        random.Random(phase.value).shuffle(everybody)
        for process in everybody:
            _more(producers, 10)
            process.phase = phase
        _more(producers, 50)
        until(lambda: all(listener.settled for listener in listeners), f"all have arrived at {phase}")
        if phase is Phase.DURABLE:
            for listener in listeners:
                listener.may_restart.set()
            until(lambda: all(listener.restarts for listener in listeners), "all have been restarted")
    for producer in producers:
        producer.over.set()
    for one in producing:
        one.result(timeout=60)
    expected = sum(producer.published for producer in producers)
    until(lambda: all(len(listener.heard) >= expected for listener in listeners), "all have heard everything")
    for listener in listeners:
        listener.over.set()
    for one in listening:
        one.result(timeout=60)
    for process in everybody:
        process.stop()
    assert all(producer.restarts for producer in producers)
    for listener in listeners:
        for producer in producers:
            mine = [event for event in listener.heard if event.startswith(b"%d:" % producer.number)]
            assert mine == [b"%d:%d" % (producer.number, number) for number in range(producer.published)]


def _more(producers: list[Producer], count: int) -> None:
    """Wait until each has published so many more: what was begun before is done then."""
    before = [producer.published for producer in producers]
    done: Callable[[], bool] = lambda: all(  # noqa: E731
        producer.published >= was + count for producer, was in zip(producers, before, strict=True)
    )
    until(done, "events are published")
