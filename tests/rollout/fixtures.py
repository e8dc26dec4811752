"""A deployment in this process: a flag that the test turns, and what tells the ways apart."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import tailrace
from tailrace import broadcast
from tailrace.records import CLOSED
from tailrace.rollout import Phase, Rollout, Subscription
from tailrace.testing.broadcast.listening import hear

PHASES = list(Phase)


class Deployment:
    """One channel, one store, and processes (a ``Rollout`` each) with a phase of their own."""

    def __init__(self, channel_url: str = "memory://", store_url: str = "memory://", overlap: float = 30.0) -> None:
        self.channel = broadcast.connect(channel_url)
        self.streams = tailrace.connect(store_url)
        self.overlap = overlap
        self.at: dict[str, Phase] = {}

    def process(self, name: str, phase: Phase) -> Rollout:
        """Start a process; ``at[name]`` is its phase from then on."""
        self.at[name] = phase
        return Rollout(self.channel, self.streams, lambda _: self.at[name], overlap=self.overlap)

    def close(self) -> None:
        self.channel.close()
        self.streams.close()


@contextlib.contextmanager
def deployment(**options: object) -> Iterator[Deployment]:
    running = Deployment(**options)  # type: ignore[arg-type]
    try:
        yield running
    finally:
        running.close()


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
