"""Messages of NATS: their bytes, and the places in them."""

import pytest

from tailrace.backends.nats.frames import (
    MOST_RECORDS,
    OVERHEAD,
    PER_RECORD,
    Kind,
    State,
    compose,
    decode,
    index_of,
    position,
    sequence_of,
)
from tailrace.backends.nats.stored import Head, Stored, head_of, microseconds
from tailrace.errors import StoreUnusableError
from tailrace.spi import Boundary, Seal

STATE = State(7, 5, (4097, 11), (4096, 11), 2, 30, 1, 10, 1_700_000_000_000_000)
LAST = 2**63 - 1


@pytest.mark.parametrize("seal", [None, Seal(), Seal(""), Seal("why \N{SNOWMAN}")], ids=["no", "yes", "empty", "why"])
@pytest.mark.parametrize("payloads", [(), (b"",), (b"a", b"", b"\0\xff" * 9)], ids=len)
def test_a_message_comes_back_as_it_was(seal: Seal | None, payloads: tuple[bytes, ...]) -> None:
    state = STATE._replace(seal=seal)
    sent = compose(Kind.RECORDS, 3, 2**32 - 1, "n\N{SNOWMAN}", state, payloads)
    got = decode(sent.data)
    assert got == sent
    assert got.payloads() == list(payloads)


def test_the_largest_name_and_reason_fit_into_what_is_left_for_them() -> None:
    state = State(LAST, LAST, (LAST, 1), (LAST, 1), LAST, LAST, LAST, LAST, LAST, Seal("r" * 1024))
    frame = compose(Kind.RECORDS, LAST, 1, "n" * 512, state, (b"x",) * MOST_RECORDS)
    # NATS's own headers are a comparison and a version, in less than the rest.
    assert len(frame.data) - MOST_RECORDS * (PER_RECORD + 1) <= OVERHEAD - 128


def test_a_place_is_a_message_and_an_index_and_grows_with_both() -> None:
    places = [(1, 0), (1, 1), (1, MOST_RECORDS - 1), (2, 0), (2**51 - 1, MOST_RECORDS - 1)]
    found = [position(*place) for place in places]
    assert found == sorted(found)
    assert [(sequence_of(each), index_of(each)) for each in found] == places
    assert found[-1] <= LAST


def test_the_newest_message_says_where_its_topic_stands() -> None:
    head = head_of(Stored(9, 77, compose(Kind.RECORDS, 3, 21, "t", STATE, (b"abc", b"de"))))
    assert head.sequence == 9
    assert head.grave == 5
    assert head.state is not None
    assert head.state.tail == Boundary(7, position(9, 1), 21)
    assert head.state.beginning == Boundary(7, 4096, 11)
    assert (head.state.records, head.state.size, head.state.touched) == (4, 35, 77)


def test_a_message_without_records_leaves_the_last_one_where_it_was() -> None:
    head = head_of(Stored(9, 77, compose(Kind.CONTROL, 3, 21, "t", STATE._replace(seal=Seal("over")))))
    assert head.state == STATE._replace(seal=Seal("over"))


def test_the_end_of_a_life_leaves_its_grave() -> None:
    assert head_of(Stored(9, 77, compose(Kind.END, 3, 21, "t", STATE))) == Head(9, None, 7)


@pytest.mark.parametrize("data", [b"", b"hello", b"TR", b"TR\x01", b"\0" * 500], ids=len)
def test_what_somebody_else_wrote_is_refused_with_what_to_do(data: bytes) -> None:
    with pytest.raises(StoreUnusableError, match="stream="):
        decode(data)


def test_what_a_newer_release_wrote_is_refused_with_what_to_do() -> None:
    data = compose(Kind.RECORDS, 3, 21, "t", STATE, (b"abc",)).data
    with pytest.raises(StoreUnusableError, match="upgrade"):
        decode(data[:2] + b"\x02" + data[3:])


@pytest.mark.parametrize(
    ("stamp", "expected"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("2026-11-30T21:29:05.632985064Z", 1796074145632985),
        ("2026-11-30T21:29:05.6Z", 1796074145600000),
        ("2026-11-30T21:29:05Z", 1796074145000000),
    ],
)
def test_a_servers_time_is_read_to_the_microsecond(stamp: str, expected: int) -> None:
    assert microseconds(stamp) == expected
