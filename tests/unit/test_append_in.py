"""Appending inside a transaction of the application: what is checked before any store sees it."""

import pytest

import tailrace
from tailrace.backends.memory import MemoryStore
from tailrace.errors import InvalidArgumentError, InvalidTypeError, PayloadTooLargeError
from tailrace.spi import Entry


class Transacting(MemoryStore):
    """A store that notes what it was handed."""

    def __init__(self) -> None:
        super().__init__()
        self.handed: list[tuple[object, Entry]] = []

    def append_in(self, connection: object, entry: Entry) -> None:
        self.handed.append((connection, entry))


def test_a_store_that_is_in_no_database_says_so() -> None:
    with tailrace.connect("memory://") as streams, pytest.raises(InvalidArgumentError, match="memory"):
        streams.topic("t").append_in(object(), [b"x"])


def test_the_payloads_reach_the_store_together_with_the_connection() -> None:
    store, connection = Transacting(), object()
    with tailrace.StreamClient(store) as streams:
        streams.topic("t").append_in(connection, [b"a", b"b"])
        streams.topic("t").append_in(connection, [])
    ((given, entry),) = store.handed
    assert given is connection
    assert (entry.topic, entry.payloads) == ("t", [b"a", b"b"])


def test_bad_payloads_never_reach_the_store() -> None:
    store = Transacting()
    with tailrace.StreamClient(store, options=tailrace.EngineOptions(max_payload=3)) as streams:
        with pytest.raises(InvalidTypeError):
            streams.topic("t").append_in(object(), b"not a list")
        with pytest.raises(PayloadTooLargeError):
            streams.topic("t").append_in(object(), [b"four"])
    assert store.handed == []
