"""A deployment in this process: a flag that the test turns, and what tells the ways apart."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from tests.rollout.colours import Colour

from tailrace.records import CLOSED
from tailrace.rollout import Phase, Rollout, Subscription
from tailrace.rollout.listener import Listener
from tailrace.testing.broadcast.listening import hear

PHASES = list(Phase)


class Deployment:
    """One channel, one store, and processes (a ``Rollout`` each) with a phase of their own."""

    def __init__(
        self,
        colour: Colour,
        channel_url: str = "memory://",
        store_url: str = "memory://",
        overlap: float = 30.0,
        **options: Any,
    ) -> None:
        self.colour = colour
        self.channel = colour.channel(channel_url, **options)
        self.streams = colour.streams(store_url)
        self.overlap = overlap
        self.at: dict[str, Phase] = {}

    def process(self, name: str, phase: Phase) -> Rollout:
        """Start a process; ``at[name]`` is its phase from then on."""
        self.at[name] = phase
        return self.turned_by(lambda _: self.at[name])

    def turned_by(self, flag: Callable[[str], Phase]) -> Rollout:
        """Start a process that asks a flag of its own."""
        started: Rollout = self.colour.rollout(self.channel, self.streams, flag, self.overlap)
        return started

    def close(self) -> None:
        self.channel.close()
        self.streams.close()


Deploy = Callable[..., AbstractContextManager[Deployment]]


@contextlib.contextmanager
def deployed(colour: Colour, **options: Any) -> Iterator[Deployment]:
    running = Deployment(colour, **options)
    try:
        yield running
    finally:
        running.close()


def listener_of(subscription: Subscription) -> Listener:
    """Return what a subscription of either colour stands on."""
    return getattr(subscription, "awaited", subscription)._listener  # type: ignore[no-any-return]


def everything(subscription: Subscription, count: int) -> list[bytes]:
    """Return the next so many events, and whatever else comes a little later."""
    heard = hear(subscription, count)
    while (event := subscription.receive(0.05)) is not None:
        assert event is not CLOSED
        assert isinstance(event, bytes)
        heard.append(event)
    return heard


def settled(subscription: Subscription) -> list[bytes]:
    """Return what comes until it follows one way only: the phase was turned before."""
    heard: list[bytes] = []
    while True:
        event = subscription.receive(0.02)
        assert event is not CLOSED
        if isinstance(event, bytes):
            heard.append(event)
        if not subscription.at_both:
            return heard
