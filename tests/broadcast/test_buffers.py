"""What waits for one subscription, and which messages are its own: decisions without a server or a clock."""

import itertools

import pytest

from tailrace.broadcast import CLOSED, BroadcastOverflowError, BroadcastUnavailableError, Overflow
from tailrace.broadcast.audience import Audience
from tailrace.broadcast.mailbox import Mailbox
from tailrace.broadcast.options import BroadcastOptions
from tailrace.broadcast.seat import Seat
from tailrace.broadcast.tally import Tally
from tailrace.errors import DurableStreamUnavailableError
from tailrace.options import parse_url
from tailrace.spi import Mark, open_broadcast


def _live(start: Mark | None = None, **options: object) -> Seat:
    seat = Seat("t", start, BroadcastOptions(**options), Tally())  # type: ignore[arg-type]
    seat.enter()
    assert seat.begin_to_join()
    seat.activate()
    return seat


def _drain(seat: Seat) -> list[object]:
    return list(itertools.takewhile(lambda message: message is not None, iter(seat.take, object())))


def _mark(number: int, place: int | None = None) -> Mark:
    return Mark((1, number if place is None else place), number)


def test_bytes_that_were_taken_make_room() -> None:
    mailbox = Mailbox(10, 10, Overflow.DROP_NEWEST)
    assert mailbox.put(b"x" * 10)
    assert mailbox.put(b"")
    mailbox.put(b"y")
    assert mailbox.dropped == 1
    assert mailbox.take() == b"x" * 10
    mailbox.put(b"z" * 10)
    assert [mailbox.take(), mailbox.take(), mailbox.take()] == [b"", b"z" * 10, None]


def test_one_large_message_pushes_out_as_many_as_it_takes() -> None:
    mailbox = Mailbox(10, 10, Overflow.DROP_OLDEST)
    for payload in (b"aaaa", b"bbbb", b"cc"):
        mailbox.put(payload)
    mailbox.put(b"d" * 7)
    assert (len(mailbox), mailbox.dropped) == (2, 2)
    mailbox.put(b"e" * 99)
    assert (len(mailbox), mailbox.take()) == (1, b"e" * 99)


def test_what_was_before_the_start_is_not_its_own() -> None:
    seat = _live(_mark(5))
    for number in (3, 4, 5, 6, 7):
        assert seat.put(b"%d" % number, _mark(number))
    assert _drain(seat) == [b"6", b"7"]
    assert seat.dropped == 0


def test_what_is_told_again_is_returned_once() -> None:
    seat = _live(_mark(0))
    for number in (1, 2, 1, 2, 3):
        seat.put(b"%d" % number, _mark(number))
    assert _drain(seat) == [b"1", b"2", b"3"]


def test_a_gap_in_the_numbers_is_counted() -> None:
    seat = _live(_mark(2))
    seat.put(b"6", _mark(6))
    assert seat.dropped == 3
    assert _drain(seat) == [b"6"]


def test_a_topic_that_begins_anew_has_no_gap_unless_its_own_beginning_is_gone() -> None:
    seat = _live(_mark(50))
    seat.put(b"1", _mark(1, place=51))
    assert seat.dropped == 0
    other = _live(_mark(50))
    other.put(b"4", _mark(4, place=51))
    assert other.dropped == 3


def test_a_gap_is_an_error_where_drops_are() -> None:
    seat = _live(_mark(0), overflow=Overflow.ERROR)
    assert seat.put(b"1", _mark(1))
    assert not seat.put(b"3", _mark(3))
    assert seat.take() == b"1"
    with pytest.raises(BroadcastOverflowError):
        seat.take()
    assert seat.take() is CLOSED


def test_an_error_comes_after_what_was_there_and_once() -> None:
    seat = _live()
    seat.put(b"1", None)
    seat.fail(BroadcastUnavailableError("lost"))
    seat.fail(BroadcastUnavailableError("again"))
    assert not seat.put(b"2", None)
    assert seat.take() == b"1"
    with pytest.raises(BroadcastUnavailableError, match="lost"):
        seat.take()
    assert seat.take() is CLOSED


def test_a_seat_that_was_closed_takes_nothing_and_is_not_revived() -> None:
    seat = _live()
    seat.put(b"1", None)
    seat.close()
    seat.activate()
    assert not seat.put(b"2", None)
    assert seat.take() is CLOSED


def test_one_that_overflows_before_it_is_entered_still_returns_what_it_had_room_for() -> None:
    seat = Seat("t", None, BroadcastOptions(buffer_messages=1, overflow=Overflow.ERROR), Tally())
    assert seat.begin_to_join()
    seat.activate()
    assert seat.put(b"1", None)
    assert not seat.put(b"2", None)
    seat.enter()
    assert seat.confirmed()
    assert seat.take() == b"1"
    with pytest.raises(BroadcastOverflowError):
        seat.take()


def test_dropping_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    seat = _live(buffer_messages=1)
    for _ in range(5):
        seat.put(b"secret", None)
    assert [record.name for record in caplog.records] == ["tailrace.broadcast"]
    assert "secret" not in caplog.text


class _Watching(Tally):
    """Notes, whenever something is counted, how often a seat has been told something by then."""

    __slots__ = ("seat", "told")

    def __init__(self) -> None:
        super().__init__()
        self.seat: Seat | None = None
        self.told: list[int] = []

    def add(self, name: str, count: int = 1) -> None:
        assert self.seat is not None
        self.told.append(self.seat.waiter.generation)
        super().add(name, count)


def test_whoever_is_told_that_he_is_lost_or_has_lost_something_has_been_counted() -> None:
    tally = _Watching()
    seat = tally.seat = Seat("t", None, BroadcastOptions(buffer_messages=1), tally)
    audience = Audience(open_broadcast(parse_url("memory://"), 1.0), tally)
    seat.enter()
    assert seat.begin_to_join()
    assert audience.admit(seat)
    seat.put(b"1", None)
    before = seat.waiter.generation
    seat.put(b"2", None)
    assert (tally.told, tally.counts()["dropped"]) == ([before], 1)
    before = seat.waiter.generation
    audience.lost(None, DurableStreamUnavailableError("gone"))
    assert (tally.told[1:], tally.counts()["lost"]) == ([before], 1)
    assert seat.waiter.generation > before
