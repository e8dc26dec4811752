"""Places in a topic's history, as the engine and the stores speak of them; users see cursors.

A place is exclusive: reading from it starts strictly after it.
"""

from typing import NamedTuple, TypeAlias

MAX_POSITION = 2**63 - 1


class Boundary(NamedTuple):
    """A place in one life of a topic.

    Attributes:
        incarnation: The random identity (1..2**63-1) that the topic got when it was created.
        position: The store's own number for a record's place, strictly increasing within an
            incarnation; 0 is before the first record.
        tag: The random 32-bit value of the commit that wrote that record, 0 at position 0. Two
            histories of one incarnation (a restored backup that grew again) differ in it.
    """

    incarnation: int
    position: int
    tag: int


class Unborn(NamedTuple):
    """The place before the first record of a topic that does not exist.

    Attributes:
        seen_at: The store's clock when that was seen, in microseconds since the epoch.
        grave: Incarnation of the last deleted life of that name that the store still remembers, 0 for
            none. If it is another one later, a whole life came and went: that is loss, and is told.
    """

    seen_at: int
    grave: int


Place: TypeAlias = Boundary | Unborn
