"""Which topics append aside, because somebody else holds them locked. Pure: the appender's lock guards it."""

from collections.abc import Callable, Iterator

from tailrace.engine.lane import Lane

WAITING_LANES = 8
"""Topics that are waited for at once, at most: each keeps a connection of the store for as long as its lock is held."""


class Sidings:
    """The lanes beside the main one, by topic.

    The first few topics have a lane each, which waits for the lock in the store. All others share one, which asks for
    them again and again: however many topics are locked, the connections and threads that they occupy stay few.

    Args:
        new_lane: Makes a lane that waits in the store, or one that asks.
    """

    def __init__(self, new_lane: Callable[[bool], Lane]) -> None:
        self._new_lane = new_lane
        self._by_topic: dict[str, Lane] = {}
        self._asking = new_lane(False)
        self._waiting = 0

    def get(self, topic: str) -> Lane | None:
        """Return where a topic appends aside; ``None`` if it does not."""
        return self._by_topic.get(topic)

    def open(self, topic: str) -> Lane:
        """Return where a topic appends aside from now on."""
        lane = self._by_topic.get(topic)
        if lane is None:
            waits = self._waiting < WAITING_LANES
            lane = self._by_topic[topic] = self._new_lane(True) if waits else self._asking
            self._waiting += waits
        return lane

    def shut(self, topic: str) -> None:
        """Let a topic append in the main lane again."""
        lane = self._by_topic.pop(topic, None)
        if lane is not None and lane.waits:
            self._waiting -= 1

    def remove(self, lane: Lane) -> None:
        """Let everybody who appended in a lane, which is empty by now, append in the main lane again."""
        for topic in [topic for topic, each in self._by_topic.items() if each is lane]:
            self.shut(topic)

    def __iter__(self) -> Iterator[Lane]:
        return iter(dict.fromkeys(self._by_topic.values()))
