"""A store whose disk is full: refused in our words, by our classes, with nothing half-written; on every engine."""

import os
from collections.abc import Callable

import pytest

import tailrace
from tailrace import StoreUnusableError
from tailrace.testing.reading import payloads, take

LARGE = 100_000
"""Bytes of each record. What is random can not be compressed."""


def refuses_stores_no_half_and_goes_on(url: str, *, room: int, make_room: Callable[[], object]) -> None:
    """Fill the disk, read what was acknowledged, and go on when there is room.

    Args:
        room: About how many bytes the disk has; it must be full after twice as many.
        make_room: Whatever it takes, also a restart of the server.
    """
    batches = [[os.urandom(LARGE) for _ in range(7)] for _ in range(2 * room // (7 * LARGE))]
    acknowledged: list[bytes] = []
    with tailrace.connect(url, create=True) as streams:
        topic = streams.topic("t")

        def fill() -> None:
            for batch in batches:
                topic.append_many(batch)
                acknowledged.extend(batch)

        with pytest.raises(StoreUnusableError, match="no space left") as caught:
            fill()
        assert caught.value.maybe_stored is False
        assert len(acknowledged) >= 7
        with topic.subscribe_from_beginning() as subscription:
            assert payloads(take(subscription, len(acknowledged))) == acknowledged
            assert subscription.receive(timeout=0.1) is None
            make_room()
            topic.append(b"there is room")
            assert payloads(take(subscription, 1)) == [b"there is room"]
