"""The fixtures that cases are written with. Yours is ``place_under_test``."""

from collections.abc import Iterator
from typing import Protocol

import pytest
from typing_extensions import Unpack

from tailrace import native
from tailrace.broadcast import ConnectOptions, Topic
from tailrace.testing.broadcast.drivers import AsyncDriver, Channel, Driver, SyncDriver
from tailrace.testing.broadcast.place import PlaceUnderTest
from tailrace.testing.plugin import enlist

# No event loop runs among greenlets: a run in a patched process is theirs.
DRIVERS: tuple[Driver, ...] = (SyncDriver(),) if native.patched() else (SyncDriver(), AsyncDriver())


class OpenChannel(Protocol):
    """Opens another channel; takes any option of ``connect``."""

    def __call__(self, **options: Unpack[ConnectOptions]) -> Channel: ...


@pytest.fixture(params=DRIVERS, ids=lambda driver: driver.name)
def driver(request: pytest.FixtureRequest) -> Driver:
    """The colour that the case is performed in."""
    chosen: Driver = request.param
    return chosen


@pytest.fixture
def place(place_under_test: PlaceUnderTest, request: pytest.FixtureRequest) -> Iterator[PlaceUnderTest]:
    """The place under test, known to be there and named in the report."""
    said = "starts are fixed by subscribe" if place_under_test.fixes_starts else "starts are fixed by entering"
    enlist(request, place_under_test.name, place_under_test.unavailable(), lambda: f"live messages; {said}")
    yield place_under_test
    place_under_test.close()


@pytest.fixture
def open_channel(place: PlaceUnderTest, driver: Driver) -> Iterator[OpenChannel]:
    """Opens channels, each with connections of its own."""
    channels: list[Channel] = []

    def open_channel(**options: Unpack[ConnectOptions]) -> Channel:
        channels.append(driver.connect(place.url(), options))
        return channels[-1]

    yield open_channel
    for channel in reversed(channels):
        channel.close()


@pytest.fixture
def channel(open_channel: OpenChannel) -> Channel:
    """A channel with default options."""
    return open_channel()


@pytest.fixture
def other_channel(open_channel: OpenChannel) -> Channel:
    """A second one, which shares nothing with ``channel`` but the place."""
    return open_channel()


@pytest.fixture
def topic(channel: Channel, place: PlaceUnderTest) -> Topic:
    """A topic that nobody has used."""
    return channel.topic(place.fresh_name())


@pytest.fixture
def peer_topic(topic: Topic, other_channel: Channel, place: PlaceUnderTest) -> Topic:
    """The same topic, through the second channel."""
    return other_channel.topic(place.last_name)
