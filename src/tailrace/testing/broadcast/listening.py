"""How cases listen: each helper fails with what was heard and what was missing."""

import time
from collections.abc import Callable

import pytest

from tailrace.broadcast import CLOSED, BroadcastError, Subscription
from tailrace.testing.reading import ABSENCE, PATIENCE


def hear(subscription: Subscription, count: int) -> list[bytes]:
    """Return the next ``count`` messages."""
    heard: list[bytes] = []
    deadline = time.monotonic() + PATIENCE
    while len(heard) < count:
        answer = subscription.receive(timeout=1.0)
        if isinstance(answer, bytes):
            heard.append(answer)
        elif answer is CLOSED or time.monotonic() > deadline:
            pytest.fail(f"heard {len(heard)} of {count} messages, then {answer!r}; the last were {heard[-5:]!r}")
    return heard


def silence(subscription: Subscription) -> None:
    """Make sure that no message is there."""
    assert subscription.receive(timeout=ABSENCE) is None


def until(condition: Callable[[], bool], what: str) -> None:
    """Wait for what other threads do."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"not within {PATIENCE} s: {what}")
        time.sleep(0.002)


def failure(subscription: Subscription) -> tuple[list[bytes], BroadcastError]:
    """Return what came before an error, and the error; check that it is told once."""
    heard: list[bytes] = []
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            answer = subscription.receive(timeout=1.0)
        except BroadcastError as error:
            assert subscription.receive(timeout=0) is CLOSED
            return heard, error
        assert answer is not CLOSED, "closed, without a word"
        if answer is not None:
            assert isinstance(answer, bytes)
            heard.append(answer)
    pytest.fail(f"no error; heard {heard[-5:]!r}")
