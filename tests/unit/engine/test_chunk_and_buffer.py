"""Chunks and buffers: what is shared, sliced and bounded."""

from tailrace.cursors import CursorCodec
from tailrace.engine.buffer import Buffer
from tailrace.engine.chunk import Chunk, Elsewhere
from tailrace.spi import Boundary, Page, Seal, StoredRecord, Unborn


def made(*sizes: int, more: bool = False, seal: Seal | None = None) -> Chunk:
    records = [StoredRecord(at, at + 100, b"x" * size) for at, size in enumerate(sizes, 1)]
    end = Boundary(1, len(sizes), len(sizes) + 100 if sizes else 0)
    return Chunk.of(Page(records, end, more, seal), Boundary(1, 0, 0), CursorCodec("t"))


def test_a_records_cursor_decodes_to_its_own_place() -> None:
    records = made(1, 2, 3).records

    places = [CursorCodec("t").decode(record.cursor) for record in records]

    assert places == [Boundary(1, 1, 101), Boundary(1, 2, 102), Boundary(1, 3, 103)]


def test_the_rest_after_the_start_is_the_chunk_itself() -> None:
    chunk = made(1, 1)

    assert chunk.rest(Boundary(1, 0, 0)) is chunk
    assert chunk.rest(Unborn(5, 0)) is chunk


def test_the_rest_after_a_place_inside_shares_the_records() -> None:
    chunk = made(1, 20, 300)

    rest = chunk.rest(Boundary(1, 1, 101))

    assert isinstance(rest, Chunk)
    assert rest.records == chunk.records[1:]
    assert (rest.size, rest.start, rest.end) == (320, Boundary(1, 1, 101), chunk.end)


def test_the_rest_after_the_end_is_empty_and_still_knows_the_seal() -> None:
    rest = made(1, 1, seal=Seal("why")).rest(Boundary(1, 2, 102))

    assert isinstance(rest, Chunk)
    assert (len(rest.records), rest.more, rest.seal) == (0, False, Seal("why"))


def test_a_place_beyond_the_chunk_is_ahead_and_one_with_another_tag_or_life_is_lost() -> None:
    chunk = made(1, 1)

    assert chunk.rest(Boundary(1, 3, 103)) is Elsewhere.AHEAD
    assert chunk.rest(Boundary(1, 1, 999)) is Elsewhere.LOST
    assert chunk.rest(Boundary(1, 2, 999)) is Elsewhere.LOST
    assert chunk.rest(Boundary(2, 1, 101)) is Elsewhere.LOST


def test_a_buffer_is_bounded_by_count_and_by_bytes() -> None:
    by_count, by_bytes = Buffer(3, 10**6), Buffer(100, 50)
    by_count.put(made(1, 1))
    by_bytes.put(made(30))

    assert (by_count.fits(made(1)), by_count.fits(made(1, 1))) == (True, False)
    assert (by_bytes.fits(made(20)), by_bytes.fits(made(21))) == (True, False)


def test_an_empty_buffer_takes_a_chunk_of_any_size() -> None:
    assert Buffer(1, 1).fits(made(10, 10, 10))


def test_taking_gives_chunks_in_order_and_frees_their_room() -> None:
    buffer = Buffer(4, 100)
    first, second = made(1, 1), made(2)
    buffer.put(first)
    buffer.put(made())
    buffer.put(second)

    assert (buffer.records, buffer.size) == (3, 4)
    assert [buffer.take(), buffer.take(), buffer.take()] == [first.records, second.records, ()]
    assert (buffer.records, buffer.size) == (0, 0)
