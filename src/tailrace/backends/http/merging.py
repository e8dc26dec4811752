"""Which streams of hints to open and to end when what is followed changes. Pure.

A stream follows the topics that it was opened with. One for each new topic would be thousands, and one for all, opened
anew for each new topic, would send thousands of names each time. So a new stream takes over the topics of those that
are not much larger than it: a name is sent a few times in all, and there are a few streams, one of them with most.
"""

from collections.abc import Collection, Sequence, Set
from typing import NamedTuple

FACTOR = 8
"""How many times as many topics a stream must follow to be left alone."""


class Merge(NamedTuple):
    """What to do.

    Attributes:
        follow: What a new stream follows; empty for none.
        end: Streams that are not needed then, by number.
    """

    follow: frozenset[str]
    end: Sequence[int]


def merge(streams: Sequence[Set[str]], added: Collection[str], wanted: Set[str], most: int) -> Merge:
    """Say what to do.

    Args:
        streams: What each of the open ones follows.
        added: What is to be followed from now on.
        wanted: Everything that is to be followed, ``added`` included.
        most: Topics that one stream may follow.
    """
    follow = set(added)
    end: list[int] = []
    for number in sorted(range(len(streams)), key=lambda each: len(streams[each])):
        kept = streams[number] & wanted
        # Nothing of it is wanted; or it costs little to take it over; or most of what it brings is for nobody.
        little = bool(follow) and len(kept) <= FACTOR * len(follow)
        wasted = len(kept) * 4 < len(streams[number])
        if not kept or ((little or wasted) and len(follow) + len(kept) <= most):
            follow |= kept
            end.append(number)
    return Merge(frozenset(follow), end)
