"""What the logs of a deployment say about loss and repetition, listener by listener."""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from tests.rollout.crew import Listener, Producer


@dataclass(frozen=True)
class Heard:
    """An event as one listener got it."""

    count: int
    life: int


@dataclass(frozen=True)
class Gap:
    """A listener was dead: whether it had a place to go on from, and when it listened again."""

    blind: bool
    until: float


def heard_of(listener: Listener, producer: Producer) -> list[Heard]:
    """Return what a listener heard of one producer, in its order."""
    found, life = [], -1
    for line in listener.log:
        if line[0] == "entered":
            life += 1
        elif line[0] == "heard" and line[2].startswith(f"{producer.number}:"):
            found.append(Heard(int(line[2].partition(":")[2]), life))
    return found


def gaps_of(listener: Listener) -> list[Gap]:
    """Return how it was dead between each of its lives and the next."""
    found = []
    for before, line in pairwise(listener.log):
        if line[0] == "entered":
            found.append(Gap(before[1] == "-", float(line[2])))
    return found


def judge(listener: Listener, producer: Producer) -> None:
    """Check that it heard each event at most once, in order, and missed none but what it could not hear.

    That is: what a killed producer had not done; and what was published while it was dead at the channel.
    """
    heard, gaps = heard_of(listener, producer), gaps_of(listener)
    counts = [each.count for each in heard]
    assert counts == sorted(set(counts)), f"{listener.number} of {producer.number}: repeated, or out of order"
    assert counts, f"{listener.number} has heard nothing of {producer.number}"
    begun = producer.begun
    for missing in sorted(producer.done.keys() - set(counts)):
        after = bisect(counts, missing)
        first = heard[after - 1].life if after else 0
        last = heard[after].life if after < len(heard) else len(gaps)
        excused = any(gap.blind and begun[missing] < gap.until for gap in gaps[first:last])
        assert excused, f"{listener.number} has lost {producer.number}:{missing} between its lives {first} and {last}"


def heard_by(listeners: Sequence[Listener], producer: Producer, count: int) -> list[bool]:
    """Return who heard one event."""
    return [any(each.count == count for each in heard_of(listener, producer)) for listener in listeners]


def last_done(producer: Producer) -> float:
    """Return what a listener must have heard to have heard everything."""
    return max(producer.done, default=-math.inf)
