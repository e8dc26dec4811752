"""Streams of hints follow everything, are few, and send a name only a few times."""

import random

from hypothesis import given
from hypothesis import strategies as st

from tailrace.backends.http.merging import merge

MOST = 1000


def play(changes: list[tuple[bool, int]], most: int) -> tuple[int, int]:
    """Follow and drop topics; return the most streams at once, and how many names were sent."""
    streams: list[set[str]] = []
    wanted: set[str] = set()
    highest = sent = 0
    for follow, number in changes:
        name = f"t{number}"
        added = {name} - wanted if follow else set()
        wanted = wanted | added if follow else wanted - {name}
        plan = merge(streams, added, wanted, most)
        streams = [stream for place, stream in enumerate(streams) if place not in plan.end]
        if plan.follow:
            streams.append(set(plan.follow))
            assert len(plan.follow) <= most
        sent += len(plan.follow)
        highest = max(highest, len(streams))
        assert all(stream & wanted for stream in streams)
        if len(changes) < MOST:
            # For more, at the end.
            assert wanted <= set().union(*streams)
    assert wanted <= set().union(*streams)
    return highest, sent


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 30)), max_size=80))
def test_everything_wanted_is_followed_and_no_stream_is_for_nothing(changes: list[tuple[bool, int]]) -> None:
    play(changes, most=7)


def test_thousands_of_topics_one_by_one_are_a_few_streams_and_each_name_is_sent_a_few_times() -> None:
    highest, sent = play([(True, number) for number in range(MOST)], MOST)
    assert highest <= 5
    assert sent <= 30 * MOST


def test_more_topics_than_a_stream_may_follow_are_as_many_full_ones_as_they_need_and_a_few_more() -> None:
    highest, _ = play([(True, number) for number in range(MOST)], MOST // 5)
    assert highest <= 5 + 5


def test_topics_that_come_and_go_leave_few_streams_and_little_waste() -> None:
    chance = random.Random(5)
    changes = [(chance.random() < 0.5, chance.randrange(200)) for _ in range(5000)]
    highest, sent = play(changes, MOST)
    assert highest <= 6
    assert sent <= 30 * len(changes)
