"""Which topics have live readers, which of them must be read, and who gets what was read.

Pure: the engine's lock guards it; it does no I/O, reads no clock and wakes nobody. It returns what is to
be done. A *channel* is one topic's live readers on one line of history: they stand at the same place,
so one read serves them all.
"""

import itertools
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from tailrace.cursors import CursorCodec
from tailrace.engine.backoff import Outage
from tailrace.engine.chunk import Chunk, Elsewhere
from tailrace.engine.feed import Feed, FeedState
from tailrace.errors import CursorUnavailableError, DurableStreamError
from tailrace.spi import Boundary, Place, Unborn

_Key = tuple[str, bool, int]


class Channel:
    """The live readers of one topic on one line of history.

    Attributes:
        place: Up to which the pump has read.
        feeds: At ``place``, or ahead of it if they pulled more recently than the pump read.
        open: Whether it is one of the hub's. A read that was under way when it was dropped is nobody's.
    """

    __slots__ = ("codec", "feeds", "open", "outage", "place", "topic")

    def __init__(self, topic: str, place: Place, outage: Outage) -> None:
        self.topic = topic
        self.place = place
        self.codec = CursorCodec(topic)
        self.feeds: dict[Feed, None] = {}
        self.outage = outage
        self.open = True

    @property
    def key(self) -> _Key:
        """What distinguishes it: the topic, and which life of it."""
        return _key(self.topic, self.place)


@dataclass(slots=True, frozen=True)
class Plan:
    """What the pump is to do next: change what is followed, then read these channels after their places."""

    added: Collection[str]
    dropped: Collection[str]
    channels: Collection[Channel]
    round: int

    def __bool__(self) -> bool:
        return bool(self.added or self.dropped or self.channels)


class Hub:
    """All channels of one engine.

    Args:
        outage_budget: Seconds that a channel rides out failing reads.
    """

    def __init__(self, outage_budget: float) -> None:
        self._outage_budget = outage_budget
        self._channels: dict[_Key, Channel] = {}
        self._by_topic: dict[str, dict[Channel, None]] = {}
        # To be read because something moved, and because it is time. The first are not kept waiting by the others.
        self._dirty: dict[Channel, None] = {}
        self._due: dict[Channel, None] = {}
        self._followed: set[str] = set()
        self._touched: set[str] = set()
        self._round = 0

    @property
    def topics(self) -> int:
        """How many topics have live readers."""
        return len(self._by_topic)

    @property
    def feeds(self) -> int:
        """How many readers are live."""
        return sum(len(channel.feeds) for channel in self._channels.values())

    def has_readers(self, topic: str) -> bool:
        """Return whether anybody is live on a topic. May be called without the lock."""
        return topic in self._by_topic

    def join(self, feed: Feed) -> bool:
        """Make a feed that stands at the tail live; return whether the pump has something new to do.

        A feed that the pump has already passed stays behind: it pulls once more and comes again.
        """
        channel = self._channels.get(_key(feed.topic, feed.place))
        if channel is not None and _position(feed.place) < _position(channel.place):
            # Unless the topic was restored to an older state, and what the pump has seen is not there any
            # more: then it would pull in vain, as fast as it can, until the pump finds out.
            self._dirty[channel] = None
            return True
        is_new = channel is None
        if channel is None:
            channel = Channel(feed.topic, feed.place, Outage(self._outage_budget))
            self._open(channel)
            # Read once after the follow is confirmed: a record that was appended between the feed's
            # pull and the confirmation has no hint.
            self._dirty[channel] = None
        feed.state = FeedState.LIVE
        feed.joined = self._round
        channel.feeds[feed] = None
        return is_new

    def leave(self, feed: Feed) -> bool:
        """Take a feed out; return whether the pump has something new to do."""
        for channel in self._by_topic.get(feed.topic, ()):
            if feed in channel.feeds:
                del channel.feeds[feed]
                if not channel.feeds:
                    self._drop(channel)
                    return True
                break
        return False

    def mark(self, topics: Iterable[str]) -> bool:
        """Note that topics may have moved; return whether any has live readers."""
        hit = False
        for topic in topics:
            channels = self._by_topic.get(topic)
            if channels:
                self._dirty.update(channels)
                hit = True
        return hit

    def mark_one(self) -> None:
        """Have some topic read, to learn whether the store is there at all."""
        channel = next(iter(self._channels.values()), None)
        if channel is not None:
            self._dirty[channel] = None

    def mark_all(self) -> None:
        """Note that any topic may have moved."""
        self._due.update(dict.fromkeys(self._channels.values()))

    def follow_afresh(self) -> None:
        """Follow everything again on a new watch, and read it: hints were lost meanwhile."""
        self._followed, self._touched = set(), set(self._by_topic)
        self.mark_all()

    def plan(self, most: int, now: float) -> Plan:
        """Take up to ``most`` channels to read, leaving those whose store just failed until their time."""
        self._round += 1
        # A quarter is left to those that are only due: hints that never end must not put them off for ever.
        picked = self._pick(self._dirty, most - min(len(self._due), most // 4), now)
        picked += self._pick(self._due, most - len(picked), now)
        touched, self._touched = self._touched, set()
        added = {topic for topic in touched if topic in self._by_topic} - self._followed
        dropped = {topic for topic in touched if topic not in self._by_topic} & self._followed
        self._followed |= added
        self._followed -= dropped
        return Plan(added, dropped, picked, self._round)

    def _pick(self, waiting: dict[Channel, None], most: int, now: float) -> list[Channel]:
        picked = list(itertools.islice((channel for channel in waiting if channel.outage.retry_at <= now), most))
        for channel in picked:
            self._dirty.pop(channel, None)
            self._due.pop(channel, None)
        return picked

    def next_retry(self) -> float | None:
        """Return when the first channel that waits for its store is to be read again."""
        waiting = itertools.chain(self._dirty, self._due)
        return min((channel.outage.retry_at for channel in waiting), default=None)

    def deliver(self, channel: Channel, chunk: Chunk, read_in: int) -> list[Feed]:
        """Hand a chunk, read in that round after the channel's place, to its feeds; return those to wake."""
        if channel.outage.since is not None:
            channel.outage.over()
        if not channel.open:
            return []
        woken, gone = [], []
        for feed in channel.feeds:
            if self._hand_over(feed, chunk, read_in):
                woken.append(feed)
            if feed.state is not FeedState.LIVE or feed.ending is not None:
                gone.append(feed)
        for feed in gone:
            del channel.feeds[feed]
        return woken + self._advance(channel, chunk)

    def lose(self, channel: Channel, reason: str) -> list[Feed]:
        """The channel's place is gone: end the feeds that stand there; return those to wake."""
        if not channel.open:
            return []
        woken = list(channel.feeds)
        for feed in woken:
            if feed.state is not FeedState.LIVE:
                continue
            if feed.place != channel.place:
                # It is further than what was asked for, or at that position of a later history: this
                # answer is not about its place, so let it ask for itself.
                feed.state = FeedState.BEHIND
            else:
                feed.fail(CursorUnavailableError(reason))
        channel.feeds.clear()
        self._drop(channel)
        return woken

    def fail(self, channel: Channel, error: DurableStreamError, *, again: bool) -> list[Feed]:
        """A read failed: try the channel again at its time, or end its feeds; return those to wake."""
        if not channel.open:
            return []
        if again:
            self._dirty[channel] = None
            return []
        woken = list(channel.feeds)
        for feed in woken:
            feed.fail(error)
        channel.feeds.clear()
        self._drop(channel)
        return woken

    def fail_all(self, error: DurableStreamError) -> list[Feed]:
        """End every live feed; return those to wake."""
        return [feed for channel in tuple(self._channels.values()) for feed in self.fail(channel, error, again=False)]

    def disband(self) -> list[Feed]:
        """Let every live feed pull and join again; return those to wake.

        For whoever was interrupted half-way through a change: nothing that it left here can be trusted.
        """
        channels = {*self._channels.values(), *(each for some in self._by_topic.values() for each in some)}
        self._touched.update(self._by_topic, (channel.topic for channel in channels))
        self._channels, self._by_topic, self._dirty, self._due = {}, {}, {}, {}
        for channel in channels:
            channel.open = False
        woken = [feed for channel in channels for feed in channel.feeds if feed.state is FeedState.LIVE]
        for feed in woken:
            feed.state = FeedState.BEHIND
        return woken

    def outage_since(self) -> float | None:
        """Return when the oldest outage that a channel rides out began."""
        return min((c.outage.since for c in self._channels.values() if c.outage.since is not None), default=None)

    def _hand_over(self, feed: Feed, chunk: Chunk, read_in: int) -> bool:
        if feed.state is not FeedState.LIVE:
            # Closed, and not taken out yet: it must get nothing more, and never fall back to being open.
            return False
        rest = chunk.rest(feed.place)
        if rest is Elsewhere.AHEAD:
            # The feed pulled after this was read; unless it was live before the read began, and then
            # the topic is shorter than what it has already seen.
            if chunk.more or feed.joined >= read_in:
                return False
            rest = Elsewhere.LOST
        if isinstance(rest, Elsewhere):
            if feed.joined >= read_in:
                # Read before the topic was restored, perhaps, and the feed's place is newer: let it ask.
                feed.state = FeedState.BEHIND
                return True
            feed.fail(CursorUnavailableError("this place belongs to another history of the topic"))
            return True
        return feed.offer(rest)

    def _advance(self, channel: Channel, chunk: Chunk) -> list[Feed]:
        if not channel.feeds:
            self._drop(channel)
            return []
        before, channel.place = channel.place, chunk.end
        if chunk.more:
            self._dirty[channel] = None
        return self._reborn(channel, before) if isinstance(before, Unborn) else []

    def _reborn(self, channel: Channel, before: Unborn) -> list[Feed]:
        # Perhaps the topic was created: its unborn channel goes on as one of its first life. Readers that
        # subscribed after the birth may already have one; then everybody here pulls and joins that.
        if isinstance(channel.place, Unborn) and channel.place.grave == before.grave:
            return []
        del self._channels[_key(channel.topic, before)]
        if channel.key not in self._channels:
            self._channels[channel.key] = channel
            return []
        moved = [feed for feed in channel.feeds if feed.state is FeedState.LIVE]
        for feed in moved:
            feed.state = FeedState.BEHIND
        channel.feeds.clear()
        channel.open = False
        self._forget(channel)
        return [feed for feed in moved if not feed.buffer.records]

    def _open(self, channel: Channel) -> None:
        self._touched.add(channel.topic)
        self._channels[channel.key] = channel
        self._by_topic.setdefault(channel.topic, {})[channel] = None

    def _drop(self, channel: Channel) -> None:
        del self._channels[channel.key]
        channel.open = False
        self._forget(channel)

    def _forget(self, channel: Channel) -> None:
        self._dirty.pop(channel, None)
        self._due.pop(channel, None)
        channels = self._by_topic[channel.topic]
        del channels[channel]
        if not channels:
            self._touched.add(channel.topic)
            del self._by_topic[channel.topic]


def _key(topic: str, place: Place) -> _Key:
    if isinstance(place, Boundary):
        return topic, True, place.incarnation
    return topic, False, place.grave


def _position(place: Place) -> int:
    return place.position if isinstance(place, Boundary) else -1
