"""The hub's decisions, without threads, clocks or stores."""

import pytest

from tailrace.cursors import CursorCodec
from tailrace.engine.buffer import Buffer
from tailrace.engine.chunk import Chunk
from tailrace.engine.feed import Feed, FeedState
from tailrace.engine.hub import Channel, Hub
from tailrace.errors import CursorUnavailableError, DurableStreamUnavailableError
from tailrace.spi import Boundary, Page, Place, Seal, StoredRecord, Unborn

LIFE = 7
TAG = 9


def place(position: int, *, life: int = LIFE, tag: int = TAG) -> Boundary:
    return Boundary(life, position, tag if position else 0)


def chunk(start: Place, last: int, *, more: bool = False, seal: Seal | None = None, tag: int = TAG) -> Chunk:
    first = start.position if isinstance(start, Boundary) else 0
    records = [StoredRecord(position, tag, b"%d" % position) for position in range(first + 1, last + 1)]
    return Chunk.of(Page(records, place(last, tag=tag), more=more, seal=seal), start, CursorCodec("t"))


def feed(start: Place, *, topic: str = "t", most: int = 100) -> Feed:
    made = Feed(topic, start, Buffer(most, 2**20))
    made.state = FeedState.BEHIND
    return made


def only(hub: Hub) -> Channel:
    plan = hub.plan(100, 0.0)
    [channel] = plan.channels
    return channel


def payloads(reader: Feed) -> list[bytes]:
    taken: list[bytes] = []
    while records := reader.take():
        taken += [record.payload for record in records]
    return taken


def test_the_first_reader_of_a_topic_makes_it_followed_and_read_once_more() -> None:
    hub = Hub(30)

    assert hub.join(feed(place(3)))

    plan = hub.plan(100, 0.0)
    assert (set(plan.added), set(plan.dropped), len(plan.channels)) == ({"t"}, set(), 1)
    assert not hub.plan(100, 0.0)


def test_the_second_reader_at_the_same_place_shares_the_channel_and_costs_no_read() -> None:
    hub = Hub(30)
    hub.join(feed(place(3)))
    hub.plan(100, 0.0)

    assert not hub.join(feed(place(3)))

    assert not hub.plan(100, 0.0)
    assert (hub.feeds, hub.topics) == (2, 1)


def test_a_reader_that_the_pump_has_passed_stays_behind() -> None:
    hub = Hub(30)
    hub.join(feed(place(5)))
    late = feed(place(4))

    hub.join(late)

    assert late.state is FeedState.BEHIND
    assert hub.feeds == 1


def test_every_reader_of_a_channel_gets_the_same_record_objects() -> None:
    hub = Hub(30)
    readers = [feed(place(3)), feed(place(3))]
    for reader in readers:
        hub.join(reader)
    channel = only(hub)

    woken = hub.deliver(channel, chunk(channel.place, 5), read_in=1)

    assert woken == readers
    first, second = (list(reader.take()) for reader in readers)
    assert [record.payload for record in first] == [b"4", b"5"]
    assert all(one is other for one, other in zip(first, second, strict=True))


def test_a_reader_ahead_of_the_pump_gets_only_what_follows_its_own_place() -> None:
    hub = Hub(30)
    hub.join(feed(place(3)))
    channel = only(hub)
    ahead = feed(place(5))
    hub.join(ahead)

    hub.deliver(channel, chunk(channel.place, 7), read_in=2)

    assert payloads(ahead) == [b"6", b"7"]
    assert ahead.place == place(7)


def test_a_chunk_older_than_a_readers_own_pull_does_not_move_it_back() -> None:
    hub = Hub(30)
    hub.join(feed(place(3)))
    plan = hub.plan(100, 0.0)
    [channel] = plan.channels
    ahead = feed(place(9))
    hub.join(ahead)

    hub.deliver(channel, chunk(channel.place, 5), read_in=plan.round)

    assert (ahead.place, ahead.ending, payloads(ahead)) == (place(9), None, [])


def test_a_topic_that_became_shorter_than_what_a_live_reader_saw_ends_it() -> None:
    hub = Hub(30)
    hub.join(feed(place(3)))
    channel = only(hub)
    ahead = feed(place(9))
    hub.join(ahead)
    hub.mark(["t"])
    plan = hub.plan(100, 0.0)

    woken = hub.deliver(channel, chunk(channel.place, 5), read_in=plan.round)

    assert ahead in woken
    assert ahead.ending is not None
    assert isinstance(ahead.ending.exception, CursorUnavailableError)


def test_another_history_at_a_readers_place_ends_it() -> None:
    hub = Hub(30)
    hub.join(feed(place(3)))
    channel = only(hub)
    ahead = feed(place(5))
    hub.join(ahead)

    hub.deliver(channel, chunk(place(3), 9, tag=TAG + 1), read_in=2)

    assert ahead.ending is not None
    assert isinstance(ahead.ending.exception, CursorUnavailableError)


def test_a_reader_whose_buffer_is_full_falls_behind_and_keeps_what_it_has() -> None:
    hub = Hub(30)
    slow, fast = feed(place(0), most=3), feed(place(0), most=100)
    hub.join(slow)
    hub.join(fast)
    channel = only(hub)
    hub.deliver(channel, chunk(channel.place, 2), read_in=1)

    hub.deliver(channel, chunk(channel.place, 5), read_in=2)

    assert (slow.state, slow.place, payloads(slow)) == (FeedState.BEHIND, place(2), [b"1", b"2"])
    assert payloads(fast) == [b"1", b"2", b"3", b"4", b"5"]
    assert hub.feeds == 1


def test_a_sealed_topic_ends_its_readers_after_the_last_record_and_is_dropped() -> None:
    hub = Hub(30)
    reader = feed(place(3))
    hub.join(reader)
    channel = only(hub)

    woken = hub.deliver(channel, chunk(channel.place, 4, seal=Seal("why")), read_in=1)

    assert woken == [reader]
    assert payloads(reader) == [b"4"]
    assert reader.ending is not None
    assert (reader.ending.kind, reader.ending.error) == ("failed", "why")
    assert set(hub.plan(100, 0.0).dropped) == {"t"}


def test_a_seal_behind_a_full_page_does_not_end_anybody_yet() -> None:
    hub = Hub(30)
    reader = feed(place(3))
    hub.join(reader)
    channel = only(hub)

    hub.deliver(channel, chunk(channel.place, 4, more=True, seal=Seal()), read_in=1)

    assert reader.ending is None
    assert only(hub) is channel


def test_a_lost_place_ends_those_who_stand_there_and_lets_those_ahead_ask_for_themselves() -> None:
    hub = Hub(30)
    here, ahead = feed(place(3)), feed(place(5))
    hub.join(here)
    hub.join(ahead)
    channel = only(hub)

    woken = hub.lose(channel, "trimmed")

    assert woken == [here, ahead]
    assert here.ending is not None
    assert (ahead.ending, ahead.state) == (None, FeedState.BEHIND)


def test_the_first_record_of_an_unborn_topic_reaches_readers_who_saw_it_unborn_at_different_times() -> None:
    hub = Hub(30)
    readers = [feed(Unborn(seen_at=1, grave=0)), feed(Unborn(seen_at=2, grave=0))]
    for reader in readers:
        hub.join(reader)
    channel = only(hub)

    hub.deliver(channel, chunk(channel.place, 1), read_in=1)

    assert [payloads(reader) for reader in readers] == [[b"1"], [b"1"]]
    assert not hub.join(feed(place(1)))
    assert hub.feeds == 3


def test_readers_who_saw_different_graves_do_not_share_a_channel() -> None:
    hub = Hub(30)
    hub.join(feed(Unborn(seen_at=1, grave=0)))

    assert hub.join(feed(Unborn(seen_at=2, grave=5)))

    assert len(hub.plan(100, 0.0).channels) == 2


def test_a_topic_born_while_another_channel_already_reads_its_life_sends_everybody_to_pull() -> None:
    hub = Hub(30)
    early = feed(Unborn(seen_at=1, grave=0))
    hub.join(early)
    channel = only(hub)
    hub.join(feed(place(1)))

    woken = hub.deliver(channel, Chunk.of(Page((), place(0)), channel.place, CursorCodec("t")), read_in=2)

    assert (early.state, woken) == (FeedState.BEHIND, [early])
    assert hub.feeds == 1


def test_a_hint_that_comes_during_a_read_makes_the_topic_be_read_again() -> None:
    hub = Hub(30)
    hub.join(feed(place(3)))
    channel = only(hub)
    assert hub.mark(["t", "other"])

    hub.deliver(channel, chunk(channel.place, 4), read_in=1)

    assert only(hub) is channel


def test_a_hint_for_a_topic_without_live_readers_asks_for_nothing() -> None:
    hub = Hub(30)

    assert not hub.mark(["t"])


def test_the_last_reader_that_leaves_drops_the_topic_unless_it_was_never_followed() -> None:
    hub = Hub(30)
    followed, unfollowed = feed(place(3)), feed(place(3), topic="u")
    hub.join(followed)
    hub.plan(100, 0.0)
    hub.join(unfollowed)

    assert hub.leave(followed)
    assert hub.leave(unfollowed)

    plan = hub.plan(100, 0.0)
    assert (set(plan.added), set(plan.dropped), list(plan.channels)) == (set(), {"t"}, [])


def test_a_topic_that_is_joined_again_before_it_was_dropped_stays_followed_and_is_read() -> None:
    hub = Hub(30)
    first = feed(place(3))
    hub.join(first)
    hub.plan(100, 0.0)
    hub.leave(first)

    hub.join(feed(place(3)))

    plan = hub.plan(100, 0.0)
    assert (set(plan.added), set(plan.dropped), len(plan.channels)) == (set(), set(), 1)


def test_a_failing_channel_waits_for_its_time_and_delays_nobody_else() -> None:
    hub = Hub(30)
    hub.join(feed(place(3)))
    hub.join(feed(place(3), topic="u"))
    failing, healthy = hub.plan(100, 0.0).channels
    assert failing.outage.failed(100.0)

    hub.fail(failing, DurableStreamUnavailableError("away"), again=True)
    hub.mark(["u"])

    assert list(hub.plan(100, 100.0).channels) == [healthy]
    retry_at = hub.next_retry()
    assert retry_at is not None
    assert 100.0 < retry_at < 101.0
    assert list(hub.plan(100, retry_at).channels) == [failing]


def test_a_plan_takes_at_most_so_many_channels_and_the_rest_next_time() -> None:
    hub = Hub(30)
    for number in range(5):
        hub.join(feed(place(1), topic=str(number)))

    sizes = [len(hub.plan(2, 0.0).channels) for _ in range(4)]

    assert sizes == [2, 2, 1, 0]


def test_a_new_watch_follows_everything_and_reads_it() -> None:
    hub = Hub(30)
    hub.join(feed(place(1)))
    hub.plan(100, 0.0)

    hub.follow_afresh()

    plan = hub.plan(100, 0.0)
    assert (set(plan.added), len(plan.channels)) == ({"t"}, 1)


def test_failing_everything_ends_every_live_reader_with_that_error() -> None:
    hub = Hub(30)
    readers = [feed(place(1)), feed(place(1), topic="u")]
    for reader in readers:
        hub.join(reader)
    error = DurableStreamUnavailableError("gone")

    assert hub.fail_all(error) == readers

    assert [reader.ending.exception for reader in readers if reader.ending] == [error, error]
    assert (hub.feeds, hub.topics) == (0, 0)


def test_an_answer_for_a_channel_that_is_gone_is_ignored() -> None:
    hub = Hub(30)
    reader = feed(place(3))
    hub.join(reader)
    channel = only(hub)
    hub.leave(reader)

    assert hub.deliver(channel, chunk(place(3), 4), read_in=1) == []
    assert hub.lose(channel, "gone") == []
    assert hub.fail(channel, DurableStreamUnavailableError("away"), again=False) == []
    assert reader.ending is None


@pytest.mark.parametrize("state", [FeedState.NEW, FeedState.BEHIND])
def test_leaving_without_having_joined_does_nothing(state: FeedState) -> None:
    hub = Hub(30)
    stranger = feed(place(3))
    stranger.state = state

    assert not hub.leave(stranger)


def test_a_closed_reader_that_is_not_taken_out_yet_gets_nothing_and_stays_closed() -> None:
    hub = Hub(30)
    roomy, tight = feed(place(0)), feed(place(0), most=1)
    hub.join(roomy)
    hub.join(tight)
    channel = only(hub)
    hub.deliver(channel, chunk(place(0), 1), 1)
    for each in (roomy, tight):
        each.close()

    hub.deliver(channel, chunk(place(1), 3), 2)

    assert payloads(roomy) == payloads(tight) == []
    assert roomy.state is tight.state is FeedState.ENDED


def test_a_closed_reader_stays_closed_when_its_place_is_lost() -> None:
    hub = Hub(30)
    ahead = feed(place(2))
    hub.join(feed(place(1)))
    hub.join(ahead)
    channel = only(hub)
    ahead.close()

    hub.lose(channel, "gone")

    assert ahead.state is FeedState.ENDED


def test_a_reader_behind_a_pump_that_saw_a_longer_topic_has_the_pump_look_again() -> None:
    hub = Hub(30)
    hub.join(feed(place(5)))
    hub.plan(100, 0.0)

    restored = feed(place(3))
    assert hub.join(restored)

    assert restored.state is FeedState.BEHIND
    assert only(hub).place == place(5)


def test_a_loss_is_not_told_to_a_reader_at_the_same_position_of_a_later_history() -> None:
    hub = Hub(30)
    old, new = feed(place(3)), feed(place(3, tag=TAG + 1))
    hub.join(old)
    hub.join(new)

    assert hub.lose(only(hub), "gone") == [old, new]

    assert isinstance(old.ending and old.ending.exception, CursorUnavailableError)
    assert (new.state, new.ending) == (FeedState.BEHIND, None)


def test_a_page_read_before_a_reader_went_live_does_not_end_it() -> None:
    hub = Hub(30)
    hub.join(feed(place(3)))
    plan = hub.plan(100, 0.0)
    [channel] = plan.channels
    new = feed(place(3, tag=TAG + 1))
    hub.join(new)

    hub.deliver(channel, chunk(place(3), 4), plan.round)

    assert (new.state, new.ending) == (FeedState.BEHIND, None)


def test_an_end_that_was_decided_and_did_not_come_up_gives_way_to_a_close() -> None:
    sealed = feed(place(0))
    sealed.accept(chunk(place(0), 2, seal=Seal()))

    sealed.close()

    assert sealed.ending is not None
    assert sealed.ending.kind == "closed"


def test_topics_that_moved_are_read_before_those_that_are_only_due_which_get_a_quarter() -> None:
    hub = Hub(30.0)
    for number in range(12):
        hub.join(feed(place(0), topic=f"t{number}"))
    hub.plan(100, 0.0)

    hub.mark_all()
    hub.mark(["t9", "t10", "t11", "t5", "t6", "t7", "t8"])
    first = [channel.topic for channel in hub.plan(8, 0.0).channels]
    rest = [channel.topic for channel in hub.plan(8, 0.0).channels]

    assert (first[:6], len(first)) == (["t9", "t10", "t11", "t5", "t6", "t7"], 8)
    assert sorted(first + rest) == sorted(f"t{number}" for number in range(12))
