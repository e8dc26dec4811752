"""Places and bounds as lists of numbers: two of them are an unborn place, three are a boundary."""

from tailrace import spi
from tailrace.boundaries import Boundary, Place, Unborn
from tailrace.wire import checks
from tailrace.wire.framing import MalformedError, from_json, to_json

_MOST_TAG = 2**32 - 1


def place_from(value: object) -> Place:
    """Return the place that a list stands for."""
    match value:
        case [incarnation, position, tag]:
            return Boundary(
                checks.whole(incarnation, "an incarnation"),
                checks.whole(position, "a position"),
                checks.whole(tag, "a tag", _MOST_TAG),
            )
        case [seen_at, grave]:
            return Unborn(checks.whole(seen_at, "a time"), checks.whole(grave, "a grave"))
        case _:
            raise MalformedError("a place is not a list of two or three numbers")


def boundary_from(value: object) -> Boundary:
    """Return the boundary that a list stands for."""
    place = place_from(value)
    if not isinstance(place, Boundary):
        raise MalformedError("a place in a topic is not a list of three numbers")
    return place


def seal_to_list(seal: spi.Seal | None) -> list[str | None]:
    """Return an empty list for no seal, or else one with its reason."""
    return [] if seal is None else [seal.error]


def seal_from_list(value: object) -> spi.Seal | None:
    """Return the seal that a list stands for."""
    match value:
        case []:
            return None
        case [(str() | None) as error]:
            return spi.Seal(error)
        case _:
            raise MalformedError("a seal is not a list with at most one reason")


def topic_from(data: bytes) -> str:
    """Return the topic that is asked for."""
    [name] = checks.members(from_json(data, "the body"), "the body", "topic")
    return checks.topic(name)


def bounds_to(bounds: spi.Bounds | Unborn) -> bytes:
    """Return where a topic stands, as a body."""
    if isinstance(bounds, Unborn):
        return to_json({"unborn": bounds})
    return to_json({"beginning": bounds.beginning, "tail": bounds.tail, "seal": seal_to_list(bounds.seal)})


def bounds_from(data: bytes) -> spi.Bounds | Unborn:
    """Return where a topic stands, from a body."""
    match from_json(data, "the bounds"):
        case {"unborn": unborn}:
            place = place_from(unborn)
            if not isinstance(place, Unborn):
                raise MalformedError("an unborn place is not a list of two numbers")
            return place
        case {"beginning": beginning, "tail": tail, "seal": seal}:
            return spi.Bounds(boundary_from(beginning), boundary_from(tail), seal_from_list(seal))
        case _:
            raise MalformedError("the bounds are neither of a topic nor of none")
