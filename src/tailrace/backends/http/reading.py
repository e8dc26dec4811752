"""Reads over HTTP: many topics in one request, whose answer comes piece by piece."""

import time
from collections.abc import Callable, Sequence

from tailrace import wire
from tailrace.backends.http.calls import Calls, whole
from tailrace.backends.http.line import Head, Line
from tailrace.errors import DurableStreamUnavailableError
from tailrace.spi import Bounds, ReadFailed, ReadOutcome, ReadRequest, Unborn
from tailrace.wire import MalformedError

BOUNDS_BYTES = 16 * 1024
"""Bytes in the bounds of a topic."""

PIECE_BYTES = 64 * 2**20
"""Bytes in one piece: more than a server sends, however large its records are."""


def bounds(calls: Calls, topic: str, patience: float) -> Bounds | Unborn:
    """Return where a topic stands."""
    deadline = time.monotonic() + patience
    answer = calls.again(wire.PATHS.bounds, wire.to_json({"topic": topic}), whole(BOUNDS_BYTES), deadline)
    try:
        return wire.bounds_from(answer)
    except MalformedError as exc:
        raise calls.explained(exc) from exc


def read(calls: Calls, requests: Sequence[ReadRequest], patience: float, most: int) -> Sequence[ReadOutcome]:
    """Read many topics, ``most`` of them in one request. A request that fails is not the others' failure."""
    outcomes: list[ReadOutcome] = []
    for start in range(0, len(requests), most):
        some = requests[start : start + most]
        try:
            calls.pauses.check(wire.PATHS.read)
            deadline = time.monotonic() + patience
            outcomes += calls.again(wire.PATHS.read, wire.requests_to(some), _pages(len(some)), deadline)
        except DurableStreamUnavailableError as exc:
            outcomes += [ReadFailed(exc)] * len(some)
    return outcomes


def _pages(count: int) -> Callable[[Line, Head, float], list[ReadOutcome]]:
    def take(line: Line, _: Head, deadline: float) -> list[ReadOutcome]:
        found: list[ReadOutcome] = []
        frames = wire.Frames(PIECE_BYTES)
        for data in line.body(deadline):
            for head, payloads in frames.feed(data):
                found += wire.unpack_pages(head, payloads)
                if len(found) > count:
                    raise MalformedError("it answers more than was asked")
        frames.end()
        if len(found) != count:
            raise MalformedError("it answers less than was asked")
        return found

    return take
