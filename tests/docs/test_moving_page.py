"""The way from pub/sub that the page describes: there and back, with its own flag, on the channels of before."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from tests.docs.blocks import blocks

import tailrace
from tailrace import broadcast
from tailrace.rollout import Phase, Rollout
from tailrace.testing.broadcast.listening import until
from tailrace.testing.servers.redis import RedisServer

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "move-from-pubsub.md"
THERE = ["write-both", "read-durable", "durable"]
BACK = ["read-durable", "write-both", "broadcast"]
OVERLAP = 0.6


def shown() -> dict[str, Any]:
    """Return the names of the page's block that defines the flag, without what it goes on to do."""
    (block,) = [block.body for block in blocks(PAGE.read_text("utf-8")) if "class FileFlag" in block.body]
    names: dict[str, Any] = {}
    exec(block.partition("def turn")[0], names)
    return names


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


class Walk:
    """One producer that publishes numbers without a rest, and one listener who collects them."""

    def __init__(self, url: str, flag_file: Path) -> None:
        self._file = flag_file
        self.turn("broadcast")
        self.channel = broadcast.connect(f"{url}?channel={{}}", buffer_messages=100_000)
        self.streams = tailrace.connect(url)
        self.flag = shown()["FileFlag"](str(flag_file), every=0.05)
        self.topic = Rollout(self.channel, self.streams, self.flag, overlap=OVERLAP).topic("run:1")
        self.published = 0
        self.heard: list[bytes] = []
        self.over = threading.Event()
        self.listening = self.topic.subscribe()

    def turn(self, phase: str) -> None:
        fresh = self._file.with_suffix(".new")
        fresh.write_text(json.dumps({"run:*": phase}))
        fresh.replace(self._file)

    def publish(self) -> None:
        while not self.over.wait(0.005):
            self.topic.publish(b"%d" % self.published)
            self.published += 1

    def listen(self) -> None:
        with self.listening:
            self.topic.publish(b"begin")
            while isinstance(event := self.listening.receive(timeout=20), bytes) and event != b"end":
                self.heard.append(event)

    def go(self, phase: str) -> None:
        """Turn the flag, and wait until the listener follows one way again, and has heard something there."""
        self.turn(phase)
        until(lambda: self.flag("run:1") is Phase(phase), "the flag is read")
        at_stream = Phase(phase).reads_stream
        until(lambda: (self.listening.cursor is not None) == at_stream, "the listener is on its way")
        count = len(self.heard)
        # It sets out before it follows both ways, and hears nothing in between.
        until(lambda: len(self.heard) > count + 5 and not self.listening.at_both, "it hears more, one way")


def test_nothing_is_lost_or_repeated_on_the_way_there_and_back(server: RedisServer, tmp_path: Path) -> None:
    walk = Walk(server.url, tmp_path / "phases.json")
    threads = [threading.Thread(target=walk.listen), threading.Thread(target=walk.publish)]
    try:
        threads[0].start()
        until(lambda: walk.heard == [b"begin"], "it listens")
        threads[1].start()
        for phase in THERE + BACK:
            walk.go(phase)
        with redis.Redis.from_url(server.url) as raw, raw.pubsub() as old:
            # Back where it began: code of before hears it again.
            old.subscribe("run:1")
            until(lambda: (old.get_message(timeout=1) or {}).get("type") == "message", "old code hears it")
    finally:
        walk.over.set()
        threads[1].join(30)
        walk.topic.publish(b"end")
        threads[0].join(30)
        walk.channel.close()
        walk.streams.close()
    assert walk.heard == [b"begin", *(b"%d" % number for number in range(walk.published))]
    assert walk.published > 100


def test_a_flag_that_breaks_stays_as_it_was_and_one_that_is_missing_stops_the_start(tmp_path: Path) -> None:
    flag_file = tmp_path / "phases.json"
    with pytest.raises(FileNotFoundError):
        shown()["FileFlag"](str(flag_file))
    flag_file.write_text('{"run:test-*": "broadcast", "run:*": "durable"}')
    flag = shown()["FileFlag"](str(flag_file))
    for broken in ("{", '{"run:*": "no such phase"}', "[]"):
        flag_file.write_text(broken)
        flag.look()
        assert (flag("run:1"), flag("run:test-1"), flag("chat:1")) == (Phase.DURABLE, Phase.BROADCAST, Phase.BROADCAST)
