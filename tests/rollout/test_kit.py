"""While listeners are at the channel, a rollout passes the broadcast kit as the channel does, in both colours."""

from collections.abc import Iterator
from typing import Any

import pytest
from typing_extensions import override

import tailrace
from tailrace import broadcast
from tailrace.broadcast import ConnectOptions
from tailrace.rollout import Phase, Rollout, Topic
from tailrace.rollout import aio as rollout_aio
from tailrace.testing.broadcast import *  # noqa: F403
from tailrace.testing.broadcast import MemoryPlaceUnderTest
from tailrace.testing.broadcast.drivers import AsyncDriver, Channel, Driver, SyncDriver
from tailrace.testing.broadcast.drivers import _Channel as Driven

PHASES = [
    pytest.param(Phase.WRITE_BOTH, id="write-both"),
    pytest.param(Phase.BROADCAST, id="broadcast", marks=pytest.mark.long),
]


class _Blocking(Channel):
    """A rollout that closes its channel."""

    def __init__(self, channel: broadcast.Channel, rollout: Rollout) -> None:
        self._channel = channel
        self._rollout = rollout

    @override
    def topic(self, name: str) -> Topic:
        return self._rollout.topic(name)

    @override
    def stats(self) -> dict[str, int]:
        return self._channel.stats()

    @override
    def close(self) -> None:
        self._channel.close()


class _Awaited:
    """The same, awaited."""

    def __init__(self, channel: broadcast.aio.Channel, rollout: rollout_aio.Rollout) -> None:
        self.topic = rollout.topic
        self.stats = channel.stats
        self.close = channel.close


class _BlockingDriver(SyncDriver):
    def __init__(self, phase: Phase, streams: tailrace.StreamClient) -> None:
        self._phase = phase
        self._streams = streams

    @override
    def connect(self, url: str, options: ConnectOptions) -> Channel:
        channel = broadcast.connect(url, **options)
        return _Blocking(channel, Rollout(channel, self._streams, lambda _: self._phase))


class _AwaitedDriver(AsyncDriver):
    def __init__(self, phase: Phase, streams: tailrace.StreamClient) -> None:
        super().__init__()
        self._phase = phase
        # Another client of the same store.
        self._streams = tailrace.aio.StreamClient(streams._engine.backend)

    @override
    def connect(self, url: str, options: ConnectOptions) -> Channel:
        opened: Any = super().connect(url, options)
        rollout = rollout_aio.Rollout(opened._inner, self._streams, lambda _: self._phase)
        return Driven(opened._loop, _Awaited(opened._inner, rollout))  # type: ignore[arg-type]


@pytest.fixture(params=PHASES)
def phase(request: pytest.FixtureRequest) -> Phase:
    """Where the topics are."""
    chosen: Phase = request.param
    return chosen


DRIVERS = [
    pytest.param(_BlockingDriver, id="sync"),
    pytest.param(_AwaitedDriver, id="asyncio", marks=pytest.mark.long),
]


@pytest.fixture(params=DRIVERS)
def driver(request: pytest.FixtureRequest, phase: Phase) -> Iterator[Driver]:
    """The colour that the case is performed in."""
    with tailrace.connect("memory://") as streams:
        yield request.param(phase, streams)


@pytest.fixture
def place_under_test() -> MemoryPlaceUnderTest:
    return MemoryPlaceUnderTest()
