"""A stream of hints: one line of JSON each, the first of which confirms what is followed.

Topics are named by their place in the list that was asked for: a hint is a few bytes, whatever a topic is called.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tailrace.wire import checks
from tailrace.wire.framing import MalformedError, from_json, to_json


class Hints(NamedTuple):
    """One line.

    Attributes:
        moved: Topics that may have moved, by number.
        anything: Whether any may have.
        reliable: Whether hints are known to arrive in the server.
        silence: Seconds in which another line comes, whatever happens.
        end: Why this is the last one, to be followed anew; ``None`` if it is not.
    """

    moved: Sequence[int] = ()
    anything: bool = False
    reliable: bool = True
    silence: float = 5.0
    end: str | None = None


def topics_to(topics: Iterable[str]) -> bytes:
    """Return the body that asks to follow them."""
    return to_json({"topics": list(topics)})


def topics_from(data: bytes) -> Sequence[str]:
    """Return the topics that a body asks to follow.

    Raises:
        MalformedError: It is not one.
    """
    [asked] = checks.members(from_json(data, "the body"), "the body", "topics")
    found = [checks.topic(each) for each in checks.items(asked, "topics")]
    if not found:
        raise MalformedError("there are no topics")
    return found


def hints_to(hints: Hints) -> bytes:
    """Return one line."""
    content: dict[str, object] = {"reliable": hints.reliable, "silence": hints.silence}
    if hints.moved:
        content["moved"] = list(hints.moved)
    if hints.anything:
        content["anything"] = True
    if hints.end is not None:
        content["end"] = hints.end
    return to_json(content) + b"\n"


def hints_from(line: bytes, topics: int) -> Hints:
    """Return what a line says of so many topics.

    Raises:
        MalformedError: It is not such a line.
    """
    match from_json(line, "a line"):
        case {"reliable": reliable, "silence": silence, **others}:
            moved = checks.items(others.get("moved", []), "moved")
            end = others.get("end")
            return Hints(
                [checks.whole(number, "the number of a topic", topics - 1) for number in moved],
                checks.flag(others.get("anything", False), "anything"),
                checks.flag(reliable, "reliable"),
                checks.seconds(silence, "silence"),
                None if end is None else checks.text(end, "end"),
            )
        case _:
            raise MalformedError("a line does not say whether hints arrive")
