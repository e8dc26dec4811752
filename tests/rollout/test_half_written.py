"""What a killed producer leaves half written: it is in the stream, and nobody publishes it. Who gets it, how often."""

import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.rollout.fixtures import Deploy, Deployment, everything, listener_of, settled

from tailrace.rollout import Phase
from tailrace.testing.servers.redis import RedisServer

FOREVER, AT_ONCE = 3600.0, 0.05
TOP = Path(__file__).parents[2]

DEADLY = """
import asyncio, os, signal, sys, tailrace
from tailrace.rollout import Phase, Rollout, aio

class Deadly:
    def topic(self, name):
        return self

    def publish(self, payload):
        os.kill(os.getpid(), signal.SIGKILL)

async def main():
    streams = await tailrace.aio.connect(sys.argv[2])
    await aio.Rollout(Deadly(), streams, lambda _: Phase(sys.argv[3])).topic("t").publish(b"half")

if sys.argv[1] == "sync":
    Rollout(Deadly(), tailrace.connect(sys.argv[2]), lambda _: Phase(sys.argv[3])).topic("t").publish(b"half")
else:
    asyncio.run(main())
"""
"""A producer that is killed with ``kill -9`` when it comes to publishing."""


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


def _half(running: Deployment, payload: bytes = b"half") -> None:
    running.streams.topic("t").append(payload)


def _kept(running: Deployment) -> list[bytes]:
    with running.streams.topic("t").subscribe_from_beginning() as reading:
        found = []
        while (record := reading.receive(0)) is not None:
            found.append(record.payload)
        return found


def test_killed_between_the_two_it_has_appended_and_has_not_published(deployment: Deploy, server: RedisServer) -> None:
    prefix = f"half-{secrets.token_hex(4)}"
    url = f"{server.url}?prefix={prefix}"
    with deployment(channel_url=f"{url}&mode=pubsub", store_url=url, overlap=FOREVER) as running:
        at_channel = running.process("c", Phase.WRITE_BOTH).topic("t").subscribe()
        at_stream = running.process("s", Phase.READ_DURABLE).topic("t").subscribe()
        with at_channel, at_stream:
            command = [sys.executable, "-c", DEADLY, running.colour.name, url, Phase.WRITE_BOTH.value]
            assert subprocess.run(command, cwd=TOP, check=False, timeout=60).returncode == -9
            assert everything(at_stream, 1) == [b"half"]
            assert everything(at_channel, 0) == []
            running.process("p", Phase.WRITE_BOTH).topic("t").publish(b"next")
            assert everything(at_stream, 1) == [b"next"]
            assert everything(at_channel, 1) == [b"next"]
        assert _kept(running) == [b"half", b"next"]


def test_a_listener_at_the_channel_never_gets_it_also_not_when_he_is_handed_over_later(deployment: Deploy) -> None:
    with deployment(overlap=AT_ONCE) as running:
        topic = running.process("p", Phase.WRITE_BOTH).topic("t")
        with running.process("l", Phase.WRITE_BOTH).topic("t").subscribe() as subscription:
            _half(running)
            topic.publish(b"next")
            assert everything(subscription, 1) == [b"next"]
            running.at["l"] = Phase.READ_DURABLE
            assert settled(subscription) == []
            topic.publish(b"last")
            assert everything(subscription, 1) == [b"last"]
        assert _kept(running) == [b"half", b"next", b"last"]


@pytest.mark.parametrize(
    ("before", "after"),
    [(Phase.WRITE_BOTH, Phase.READ_DURABLE), (Phase.READ_DURABLE, Phase.WRITE_BOTH)],
    ids=["to the stream", "to the channel"],
)
def test_a_listener_on_his_way_gets_it_once(deployment: Deploy, before: Phase, after: Phase) -> None:
    with deployment(overlap=FOREVER) as running:
        topic = running.process("p", Phase.WRITE_BOTH).topic("t")
        with running.process("l", before).topic("t").subscribe() as subscription:
            running.at["l"] = after
            assert everything(subscription, 0) == []
            assert subscription.at_both
            _half(running)
            topic.publish(b"next")
            assert everything(subscription, 2) == [b"half", b"next"]


@pytest.mark.parametrize("phase", [Phase.READ_DURABLE, Phase.DURABLE], ids=lambda phase: phase.value)
def test_a_listener_at_the_stream_gets_it_once(deployment: Deploy, phase: Phase) -> None:
    with deployment() as running:
        with running.process("l", phase).topic("t").subscribe() as subscription:
            _half(running)
            running.process("p", phase).topic("t").publish(b"next")
            assert everything(subscription, 2) == [b"half", b"next"]


@pytest.mark.parametrize(
    ("phase", "heard"), [(Phase.WRITE_BOTH, 1), (Phase.READ_DURABLE, 2)], ids=["at the channel", "at the stream"]
)
def test_a_successor_who_repeats_it_doubles_it_in_the_stream(deployment: Deploy, phase: Phase, heard: int) -> None:
    with deployment() as running:
        with running.process("l", phase).topic("t").subscribe() as subscription:
            _half(running)
            running.process("p", phase).topic("t").publish(b"half")
            assert everything(subscription, heard) == [b"half"] * heard
        assert _kept(running) == [b"half", b"half"]


def test_back_at_the_channel_a_successors_repetition_is_taken_for_it_once_and_not_for_ever(deployment: Deploy) -> None:
    with deployment(overlap=AT_ONCE) as running:
        topic = running.process("p", Phase.WRITE_BOTH).topic("t")
        with running.process("l", Phase.READ_DURABLE).topic("t").subscribe() as subscription:
            running.at["l"] = Phase.WRITE_BOTH
            assert subscription.receive(0) is None
            _half(running)
            listener_of(subscription)._overlap = FOREVER
            assert settled(subscription) == [b"half"]
            topic.publish(b"half")
            assert everything(subscription, 0) == []
            topic.publish(b"half")
            assert everything(subscription, 1) == [b"half"]
