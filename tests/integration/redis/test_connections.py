"""A connection that its borrower drops comes back by itself, and nobody gets what was left on it."""

import gc
import time
import weakref
from collections.abc import Iterator

import pytest
import redis

from tailrace import DurableStreamUnavailableError
from tailrace.backends import connections
from tailrace.backends.connections import MOST, Connections, Slot
from tailrace.backends.redis.location import from_client
from tailrace.backends.redis.wire import Wire, dial


def soon() -> float:
    """Return a deadline that is not reached."""
    return time.monotonic() + 10


@pytest.fixture
def lending(raw: "redis.Redis") -> Iterator[Connections]:
    """Connections to a server."""
    location = from_client(raw)
    made = Connections(lambda timeout: dial(location, timeout))
    yield made
    made.close()


def wire_of(slot: Slot) -> Wire:
    assert slot.wire is not None
    return slot.wire


def test_a_slot_that_is_dropped_comes_back_without_its_connection(lending: Connections) -> None:
    dropped = []
    for _ in range(3 * MOST):
        slot = lending.take(soon())
        dropped.append(weakref.ref(wire_of(slot)))
        del slot
    gc.collect()

    assert not any(wire() for wire in dropped)
    assert not lending._used
    assert len(lending._stack._slots) == MOST


def test_all_can_be_lent_at_once_and_no_more(lending: Connections) -> None:
    lent = [lending.take(soon()) for _ in range(MOST)]

    with pytest.raises(DurableStreamUnavailableError, match="in use"):
        lending.take(0.0)
    wire = wire_of(lent[0])
    lending.give_back(lent.pop(0), keep=True)
    assert lending.take(soon()).wire is wire


def test_a_failure_to_connect_keeps_no_slot_though_the_error_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(timeout: float) -> Wire:
        raise DurableStreamUnavailableError("away")

    lending, errors = Connections(fail), []
    for _ in range(2 * MOST):
        with pytest.raises(DurableStreamUnavailableError, match="away") as failure:
            lending.take(soon())
        errors.append(failure.value)
    assert len(lending._stack._slots) == MOST


def test_closing_leaves_no_slot_that_would_come_back(lending: Connections) -> None:
    idle = lending.take(soon())
    lending.give_back(idle, keep=True)
    del idle
    lending.close()
    gc.collect()

    assert len(lending._stack._slots) == connections.MOST
    with pytest.raises(DurableStreamUnavailableError, match="closed"):
        lending.take(soon())


def test_a_connection_that_is_opened_while_the_store_is_closed_is_not_lent(raw: "redis.Redis") -> None:
    location, opened = from_client(raw), []

    def slowly(timeout: float) -> Wire:
        opened.append(dial(location, timeout))
        lending.close()
        return opened[-1]

    lending = Connections(slowly)
    with pytest.raises(DurableStreamUnavailableError, match="closed"):
        lending.take(soon())
    assert opened[0]._connection._sock is None
    assert not lending._used
