"""Which payloads go together into one message of NATS."""

from tailrace.backends.nats.frames import MOST_RECORDS, PER_RECORD
from tailrace.backends.nats.writing import packed
from tailrace.spi import Entry


def sizes(entries: list[Entry], room: int) -> list[list[tuple[int, int, bool]]]:
    messages = packed(range(len(entries)), entries, room)
    return [[(part.entry, len(part.payloads), part.last) for part in message] for message in messages]


def test_entries_that_fit_go_together_and_stay_whole() -> None:
    entries = [Entry("t", [b"x" * 10] * 3) for _ in range(3)]
    assert sizes(entries, 6 * (10 + PER_RECORD)) == [[(0, 3, True), (1, 3, True)], [(2, 3, True)]]


def test_one_that_fits_in_no_message_is_cut_and_what_is_left_of_it_has_room_for_others() -> None:
    entries = [Entry("t", [b"x"]), Entry("t", [b"x" * 10] * 5), Entry("t", [b"x"])]
    room = 2 * (10 + PER_RECORD) + PER_RECORD + 1
    assert sizes(entries, room) == [
        [(0, 1, True)],
        [(1, 2, False)],
        [(1, 2, False)],
        [(1, 1, True), (2, 1, True)],
    ]


def test_no_message_has_more_records_than_a_place_can_tell_apart() -> None:
    entries = [Entry("t", [b""] * (MOST_RECORDS - 1)), Entry("t", [b""]), Entry("t", [b""] * (MOST_RECORDS + 1))]
    assert sizes(entries, 10**9) == [
        [(0, MOST_RECORDS - 1, True), (1, 1, True)],
        [(2, MOST_RECORDS, False)],
        [(2, 1, True)],
    ]


def test_nothing_is_left_out_and_the_order_is_kept() -> None:
    entries = [Entry("t", [b"%d.%d" % (entry, at) * entry for at in range(entry + 1)]) for entry in range(12)]
    found = [payload for message in packed(range(12), entries, 60) for part in message for payload in part.payloads]
    assert found == [payload for entry in entries for payload in entry.payloads]
