"""How cases read: each helper fails with what was seen and what was missing."""

import threading
import time
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

import pytest

from tailrace.errors import CursorUnavailableError
from tailrace.records import CLOSED, DurableStreamRecord, TopicCursor
from tailrace.testing.drivers import Client, Subscription, Topic

T = TypeVar("T")

ABSENCE = 0.02
"""Seconds in which nothing must come. A record that is wrongly delivered is mostly there already; the
cases that a late one could fool append a marker instead."""

PATIENCE = 20.0
"""Seconds before a case gives up on what must come; nothing that passes ever waits so long."""


def take(subscription: Subscription, count: int) -> list[DurableStreamRecord]:
    """Return the next ``count`` records."""
    records: list[DurableStreamRecord] = []
    deadline = time.monotonic() + PATIENCE
    while len(records) < count:
        answer = subscription.receive(timeout=1.0)
        if isinstance(answer, DurableStreamRecord):
            records.append(answer)
        elif answer is CLOSED or time.monotonic() > deadline:
            seen = payloads(records[-5:])
            pytest.fail(f"got {len(records)} of {count} records, then {answer!r}; the last were {seen!r}")
    return records


def payloads(records: Iterable[DurableStreamRecord]) -> list[bytes]:
    """Return what the records carry."""
    return [record.payload for record in records]


def read_all(subscription: Subscription, count: int) -> list[bytes]:
    """Enter, return the next ``count`` payloads, make sure that nothing follows, and close."""
    with subscription:
        records = take(subscription, count)
        nothing(subscription)
    return payloads(records)


def nothing(subscription: Subscription) -> None:
    """Make sure that no record is there."""
    assert subscription.receive(timeout=ABSENCE) is None


def awake(client: Client) -> None:
    """Have the client start its threads: before Python 3.12 an interrupt of whoever starts one may hit that one."""
    with client.topic("kit-nobody-writes-this").subscribe_from_tail() as subscription:
        nothing(subscription)


def drain(subscription: Subscription) -> list[bytes]:
    """Return every payload up to the end of the stream."""
    found: list[bytes] = []
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        answer = subscription.receive(timeout=1.0)
        if answer is CLOSED:
            return found
        if isinstance(answer, DurableStreamRecord):
            found.append(answer.payload)
    pytest.fail(f"the stream did not end; it gave {len(found)} records")


def read_until_lost(subscription: Subscription) -> list[bytes]:
    """Return what came before the subscription said that its place is gone, and check that it is over."""
    found: list[bytes] = []
    with pytest.raises(CursorUnavailableError):
        _read_on(subscription, found)
    assert subscription.receive(timeout=0) is CLOSED
    return found


def _read_on(subscription: Subscription, found: list[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        answer = subscription.receive(timeout=1.0)
        if answer is CLOSED:
            return
        if isinstance(answer, DurableStreamRecord):
            found.append(answer.payload)


def refused(topic: Topic, cursor: TopicCursor) -> None:
    """Make sure that a cursor is told to be unavailable when it is handed over."""
    with pytest.raises(CursorUnavailableError):
        topic.subscribe_from_cursor(cursor)


def numbered(count: int, start: int = 0) -> list[bytes]:
    """Return ``count`` payloads that can be told apart."""
    return [b"%d" % number for number in range(start, start + count)]


def fill(topic: Topic, count: int, start: int = 0) -> list[TopicCursor]:
    """Append ``count`` numbered records and return the cursor of each."""
    subscription = topic.subscribe_from_tail()
    topic.append_many(numbered(count, start))
    with subscription:
        return [record.cursor for record in take(subscription, count)]


class Background(Generic[T]):
    """A call that runs in a thread of its own from now on.

    Args:
        call: What to run; what it raises comes out of ``result``.
    """

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._value: list[T] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def result(self, timeout: float = PATIENCE) -> T:
        """Wait for the call; return or raise what it did. Fails the case if it is still running."""
        self._thread.join(timeout)
        if self._thread.is_alive():
            pytest.fail(f"still running after {timeout} s")
        if self._error is not None:
            raise self._error
        return self._value[0]

    @property
    def running(self) -> bool:
        """Whether the call has not ended."""
        return self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._value.append(self._call())
        except BaseException as error:  # noqa: BLE001 - handed to whoever asks for the result
            self._error = error
