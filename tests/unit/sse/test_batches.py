"""Batches are found by cursor and taken from any place, whole events in order, within their bounds."""

import random

from tailrace.records import TopicCursor
from tailrace.sse.batches import BATCH_BYTES, KEPT_BYTES, KEPT_BYTES_IN_ALL, Batches, FellBehind, Shelf, Taken

START = TopicCursor("start")


def event(number: int, size: int = 0) -> tuple[TopicCursor, bytes]:
    return TopicCursor(f"c{number}"), b"<%d>" % number + b"." * size


def taken(batches: Batches, cursor: TopicCursor) -> bytes:
    """Return everything after a cursor, as a reader that joins there gets it."""
    place = batches.find(cursor)
    assert place is not None
    written = b""
    while isinstance(got := batches.take(place), Taken):
        written += got.body
        place, cursor = got.place, got.cursor
    assert got is None
    assert cursor == batches.head
    return written


def test_from_every_event_the_rest_follows_and_nothing_else() -> None:
    batches = Batches(Shelf(), START)
    chance, number = random.Random(3), 0
    cursors = [START]
    for _ in range(20):
        some = [event(number + index) for index in range(chance.randint(1, 5))]
        batches.put(some, 0.0)
        number += len(some)
        cursors += [cursor for cursor, _ in some]
    for index, cursor in enumerate(cursors[1:], 1):
        assert taken(batches, cursor) == b"".join(event(later)[1] for later in range(index, number))


def test_before_the_first_event_the_start_is_the_head() -> None:
    batches = Batches(Shelf(), START)
    assert taken(batches, START) == b""
    place = batches.find(START)
    assert place is not None
    batches.put([event(0)], 0.0)
    assert batches.find(START) is None
    got = batches.take(place)
    assert isinstance(got, Taken)
    assert got.body == b"<0>"


def test_what_is_dropped_is_not_found_and_who_was_there_is_told() -> None:
    shelf = Shelf()
    batches = Batches(shelf, START)
    batches.put([event(0), event(1)], 1.0)
    place = batches.find(TopicCursor("c0"))
    assert place is not None
    batches.put([event(2)], 2.0)
    batches.drop_until(1.0)
    assert batches.find(TopicCursor("c0")) is None
    assert isinstance(batches.take(place), FellBehind)
    assert taken(batches, TopicCursor("c2")) == b""
    batches.drop_until(2.0)
    assert not batches
    assert shelf.size == 0
    assert taken(batches, TopicCursor("c2")) == b"", "an idle reader stays where it is, whatever was dropped"


def test_no_more_is_kept_than_the_bounds_and_one_batch() -> None:
    shelf = Shelf()
    batches = Batches(shelf, START)
    for number in range(40):
        batches.put([event(number, KEPT_BYTES // 8)], 0.0)
        assert shelf.size <= KEPT_BYTES + KEPT_BYTES // 8 + 10
    batches.put([event(99, 2 * KEPT_BYTES)], 0.0)
    assert shelf.size == 2 * KEPT_BYTES + 4

    others = Batches(shelf, START)
    shelf.size += KEPT_BYTES_IN_ALL
    others.put([event(0)], 0.0)
    others.put([event(1)], 0.0)
    assert others.find(TopicCursor("c1")) is not None
    assert others.find(START) is None


def test_a_write_is_joined_up_to_a_bound() -> None:
    batches = Batches(Shelf(), START)
    place = batches.find(START)
    assert place is not None
    for number in range(6):
        batches.put([event(number, BATCH_BYTES // 3)], 0.0)
    got = batches.take(place)
    assert isinstance(got, Taken)
    assert BATCH_BYTES <= len(got.body) < 2 * BATCH_BYTES
    assert got.cursor == "c2"


def test_readers_of_one_place_are_given_one_object_and_never_an_old_one() -> None:
    batches = Batches(Shelf(), START)
    place = batches.find(START)
    assert place is not None
    for number in range(3):
        batches.put([event(number)], float(number))
        got = batches.take(place)
        assert isinstance(got, Taken)
        assert got.body == b"".join(event(each)[1] for each in range(number + 1))
        assert batches.take(place) is got
    batches.drop_until(0.0)
    assert isinstance(batches.take(place), FellBehind)
