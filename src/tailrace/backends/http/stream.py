"""One stream of hints: a long answer, read as it comes."""

import time
from collections.abc import Collection

from tailrace import wire
from tailrace.backends.http.calls import Calls
from tailrace.backends.http.line import BrokenLineError, Line
from tailrace.errors import DurableStreamUnavailableError
from tailrace.wire import Hints, MalformedError

LINE_BYTES = 2**20
"""Bytes in one line of hints."""

GRACE = 5.0
"""Seconds that a line may come later than the server has said."""


class Stream:
    """An open one. Not thread-safe.

    Args:
        line: Where its answer comes in; closed with it.
        topics: What it follows, in the order of the request.

    Attributes:
        early: What came together with the confirmation.
        leaves_at: When it is dropped because another one has taken over; ``None`` for an open end.
    """

    def __init__(self, line: Line, topics: Collection[str]) -> None:
        self.line = line
        self._names = tuple(topics)
        self.topics = frozenset(topics)
        self._buffer = b""
        self._heard = time.monotonic()
        self._silence = GRACE
        self.hints_arrive = True
        self.early: list[Hints] = []
        self.leaves_at: float | None = None

    @classmethod
    def open(cls, calls: Calls, topics: Collection[str], deadline: float) -> "Stream":
        """Follow topics; return once the server has confirmed them.

        Raises:
            DurableStreamUnavailableError: It did not.
        """
        calls.pauses.check(wire.PATHS.watch)
        stream = cls(calls.dial(max(0.001, deadline - time.monotonic())), topics)
        try:
            calls.begin(stream.line, wire.PATHS.watch, wire.topics_to(stream._names), deadline)
            for data in stream.line.body(deadline):
                stream.early = stream._lines(data)
                if stream.early:
                    return stream
            raise BrokenLineError("it confirmed nothing", sent=True)
        except (BrokenLineError, MalformedError) as exc:
            stream.line.close()
            raise calls.explained(exc) from exc
        except BaseException:
            stream.line.close()
            raise

    @property
    def due(self) -> float:
        """When it is taken for dead, if nothing is heard before; or dropped."""
        dead = self._heard + self._silence + GRACE
        return dead if self.leaves_at is None else min(dead, self.leaves_at)

    @property
    def reliable(self) -> bool:
        """Whether hints are known to arrive: here, and in the server."""
        return self.hints_arrive and time.monotonic() <= self._heard + self._silence + GRACE / 2

    def hear(self) -> list[Hints]:
        """Return what has arrived, without waiting.

        Raises:
            BrokenLineError: It was cut off.
            MalformedError: It makes no sense.
        """
        data, ended = self.line.arrived()
        hints = self._lines(data)
        if ended and not (hints and hints[-1].end is not None):
            raise BrokenLineError("it ended without a reason", sent=True)
        return hints

    def moved(self, hints: Hints) -> set[str]:
        """Return the topics that a line speaks of."""
        return {self._names[number] for number in hints.moved}

    def check(self, now: float, name: str) -> None:
        """Find out whether it is dead.

        Raises:
            DurableStreamUnavailableError: It is.
        """
        if self.leaves_at is None and now > self.due:
            raise DurableStreamUnavailableError(f"{name} has been silent for {now - self._heard:.0f} s")

    def _lines(self, data: bytes | bytearray) -> list[Hints]:
        if data:
            self._heard = time.monotonic()
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        if len(self._buffer) > LINE_BYTES:
            raise MalformedError(f"a line is over {LINE_BYTES} bytes")
        found = [wire.hints_from(line, len(self._names)) for line in lines]
        if found:
            self.hints_arrive, self._silence = found[-1].reliable, min(found[-1].silence, 60.0)
        return found
