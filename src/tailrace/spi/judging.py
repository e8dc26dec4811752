"""Whether a place still holds, judged from what a store knows about the topic. Pure; the same on every store.

A store calls this inside the atomic step of ``read``, with values of that step.
"""

from collections.abc import Callable

from tailrace.boundaries import Boundary, Unborn
from tailrace.spi.pages import Bounds, PositionLost


def lost_birth(place: Unborn, grave: int, now: int, tombstone_for: float) -> PositionLost | None:
    """Say why a place before a topic's birth does not hold, if it does not.

    Args:
        grave: Incarnation of the last deleted life that is remembered, 0 for none.
        now: The store's clock, microseconds since the epoch.
        tombstone_for: Seconds that deleted lives are remembered.
    """
    # A grave that is forgotten by now is no sign of a life in between: that one would have left a younger one.
    if grave not in (0, place.grave):
        return PositionLost("the topic was deleted since this place was taken")
    if now - place.seen_at > tombstone_for * 1e6:
        return PositionLost("this place was taken longer ago than deleted topics are remembered")
    return None


def lost_place(place: Boundary, bounds: Bounds, tag_at: Callable[[int], int | None]) -> PositionLost | None:
    """Say why a place does not hold, if it does not. One at the horizon or at the tail holds.

    Args:
        bounds: Where the topic stands.
        tag_at: Returns the tag of the record at a position between horizon and tail, ``None`` for none there.
    """
    if place.incarnation != bounds.tail.incarnation:
        return PositionLost("the topic was deleted and created again")
    if place in (bounds.tail, bounds.beginning):
        return None
    if place.position < bounds.beginning.position:
        return PositionLost("records after this place were removed by retention")
    inside = bounds.beginning.position < place.position < bounds.tail.position
    if not inside or tag_at(place.position) != place.tag:
        return PositionLost("this place belongs to another history of the topic")
    return None
