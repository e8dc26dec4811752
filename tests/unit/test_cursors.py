"""Cursors: every place survives the round trip, and no other text is ever taken for one."""

from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace import limits
from tailrace.boundaries import MAX_POSITION, Boundary, Place, Unborn
from tailrace.cursors import CursorCodec
from tailrace.errors import CursorUnavailableError

CODEC = CursorCodec("run:42")
PLACE = Boundary(incarnation=0x0123_4567_89AB_CDEF, position=987_654_321, tag=0xDEAD_BEEF)

boundaries = st.builds(
    Boundary,
    incarnation=st.integers(1, MAX_POSITION),
    position=st.integers(0, MAX_POSITION),
    tag=st.integers(0, 2**32 - 1),
)
unborn = st.builds(Unborn, seen_at=st.integers(0, MAX_POSITION), grave=st.integers(0, MAX_POSITION))
topics = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=60)


@given(topic=topics, place=boundaries | unborn)
def test_every_place_survives_the_round_trip(topic: str, place: Place) -> None:
    codec = CursorCodec(topic)

    assert codec.decode(codec.encode(place)) == place


@given(place=boundaries | unborn)
def test_a_cursor_is_short_url_safe_text(place: Place) -> None:
    cursor = CODEC.encode(place)

    assert len(cursor) <= limits.MAX_CURSOR_CHARS
    assert set(cursor) <= set("0123456789abcdef")


@given(place=boundaries)
def test_encoding_many_agrees_with_encoding_one(place: Boundary) -> None:
    stored = [
        (min(place.position + step, MAX_POSITION), tag, b"")
        for step in (0, 1, 254, 255, 256, 257)
        for tag in (place.tag, 3)
    ]

    assert CODEC.encode_all(place.incarnation, stored) == [
        CODEC.encode(Boundary(place.incarnation, position, tag)) for position, tag, _ in stored
    ]


@given(place=boundaries, other=boundaries)
def test_two_places_never_share_a_cursor(place: Boundary, other: Boundary) -> None:
    assert (CODEC.encode(place) == CODEC.encode(other)) == (place == other)


@pytest.mark.parametrize("bit", range(len(CODEC.encode(PLACE)) * 4))
def test_any_flipped_bit_is_found(bit: int) -> None:
    raw = bytearray.fromhex(CODEC.encode(PLACE))
    raw[bit // 8] ^= 1 << (bit % 8)

    with pytest.raises(CursorUnavailableError):
        CODEC.decode(raw.hex())


@pytest.mark.parametrize("step", range(256))
def test_any_flipped_bit_of_any_step_is_found(step: int) -> None:
    raw = bytes.fromhex(CODEC.encode(Boundary(5, 1 << 20 | step, 9)))

    for bit in range(24):
        flipped = (int.from_bytes(raw) ^ 1 << bit).to_bytes(len(raw))
        with pytest.raises(CursorUnavailableError):
            CODEC.decode(flipped.hex())


@pytest.mark.parametrize("length", range(len(CODEC.encode(PLACE))))
def test_any_truncation_is_found(length: int) -> None:
    with pytest.raises(CursorUnavailableError):
        CODEC.decode(CODEC.encode(PLACE)[:length])


@given(topic=topics.filter(lambda topic: topic != "run:42"))
def test_another_topic_refuses_the_cursor(topic: str) -> None:
    with pytest.raises(CursorUnavailableError, match="another topic"):
        CursorCodec(topic).decode(CODEC.encode(PLACE))


@pytest.mark.parametrize("version", sorted(set(range(256)) - {0x11, 0x12}))
def test_a_cursor_of_an_unknown_release_is_refused_and_said_so(version: int) -> None:
    cursor = CODEC.encode(PLACE)
    head = bytes([version]) + bytes.fromhex(cursor)[1:-7]
    forged = (head + crc32(head).to_bytes(4, "big")).hex() + cursor[-6:]

    with pytest.raises(CursorUnavailableError, match="release"):
        CODEC.decode(forged)


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(CODEC.encode(PLACE).upper(), id="capitals"),
        pytest.param(CODEC.encode(PLACE)[:-1] + CODEC.encode(PLACE)[-1].upper() + " ", id="a trailing space"),
        pytest.param(" ".join([CODEC.encode(PLACE)[:30], CODEC.encode(PLACE)[30:61]]), id="a space inside"),
        pytest.param("٣" * 64, id="digits of another script"),
        pytest.param("\ud800" * 64, id="lone surrogates"),
        pytest.param("\0" * 64, id="NULs"),
        pytest.param("", id="empty"),
        pytest.param("9" * 5000, id="5000 digits"),
        pytest.param("0-0", id="another system's position"),
        pytest.param("earliest", id="a word"),
    ],
)
def test_text_that_was_never_a_cursor_is_refused(wrong: str) -> None:
    with pytest.raises(CursorUnavailableError):
        CODEC.decode(wrong)


@pytest.mark.parametrize("wrong", [None, b"", CODEC.encode(PLACE).encode(), 7, 1.5, [], PLACE])
def test_what_is_not_text_is_refused(wrong: object) -> None:
    with pytest.raises(CursorUnavailableError, match="text"):
        CODEC.decode(wrong)


@given(text=st.text(max_size=70))
def test_no_random_text_raises_anything_else(text: str) -> None:
    with pytest.raises(CursorUnavailableError):
        CODEC.decode(text)


@given(identity=st.integers(MAX_POSITION + 1, 2**64 - 1))
def test_numbers_that_no_store_could_hold_are_refused(identity: int) -> None:
    forged = CODEC.encode(Boundary(incarnation=identity, position=1, tag=1))

    with pytest.raises(CursorUnavailableError):
        CODEC.decode(forged)


def test_the_message_does_not_repeat_the_cursor() -> None:
    cursor = CODEC.encode(PLACE)

    with pytest.raises(CursorUnavailableError) as caught:
        CODEC.decode(cursor[:-1])

    assert cursor[:20] not in str(caught.value)
