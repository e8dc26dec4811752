"""Being told of appends: a few long answers for all topics, and one of them for most: ``merging.py``.

Used by one thread, except for ``interrupt`` and ``close``.
"""

import contextlib
import time
from collections.abc import Collection, Iterator, Sequence

from typing_extensions import override

from tailrace.backends.http.calls import Calls
from tailrace.backends.http.line import BrokenLineError
from tailrace.backends.http.merging import merge
from tailrace.backends.http.stream import Stream
from tailrace.backends.vigil import Vigil
from tailrace.errors import DurableStreamUnavailableError
from tailrace.spi import Changes
from tailrace.wire import Hints, MalformedError

LINGERS = 1.0
"""Seconds that a stream is still listened to after another one has taken over its topics."""

LINGER_AT_MOST = 3
"""Streams that linger at once."""


class HttpWatch(Vigil):
    """One engine's view of what moved. Makes no connection before something is followed.

    Args:
        calls: To the server.
        patience: Seconds in which it must confirm what is followed.
        most: Topics that one stream may follow.
    """

    def __init__(self, calls: Calls, patience: float, most: int) -> None:
        super().__init__()
        self._calls = calls
        self._patience = patience
        self._most = most
        self._streams: list[Stream] = []
        self._wanted: set[str] = set()
        self._moved: set[str] = set()
        self._anything = False

    @property
    @override
    def reliable(self) -> bool:
        return not self._closed and all(stream.reliable for stream in self._streams if stream.leaves_at is None)

    @override
    def follow(self, added: Collection[str], dropped: Collection[str]) -> None:
        with self._entered():
            self._wanted.difference_update(dropped)
            new = set(added) - self._wanted
            self._wanted.update(added)
            self._change(new)

    @override
    def wait(self, timeout: float) -> Changes:
        deadline = time.monotonic() + timeout
        with self._entered():
            interrupted = False
            while not (interrupted or self._moved or self._anything):
                now = time.monotonic()
                self._see_off(now)
                for stream in self._streams:
                    stream.check(now, self._calls.name)
                due = min((stream.due for stream in self._streams), default=deadline)
                interrupted = self._hear_for(min(deadline, due) - now)
                if now >= deadline:
                    break
            moved, self._moved = self._moved, set()
            anything, self._anything = self._anything, False
            return Changes(frozenset(moved & self._wanted), anything)

    def _change(self, added: Collection[str]) -> None:
        """Follow more topics, or fewer; what streams already follow is not interrupted for it."""
        deadline = time.monotonic() + self._patience
        todo = list(added)
        while True:
            staying = [stream for stream in self._streams if stream.leaves_at is None]
            plan = merge([stream.topics for stream in staying], todo[: self._most], self._wanted, self._most)
            todo = todo[self._most :]
            if plan.follow:
                self._open(plan.follow, deadline)
            for number in plan.end:
                # Not at once: what it has just been told is on its way yet, and the new one was not told.
                staying[number].leaves_at = time.monotonic() + LINGERS
            self._see_off(time.monotonic())
            if not todo:
                return

    def _open(self, topics: Collection[str], deadline: float) -> None:
        stream = Stream.open(self._calls, topics, deadline)
        self._streams.append(stream)
        self._take(stream, stream.early)

    def _hear(self, stream: Stream) -> None:
        try:
            hints = stream.hear()
        except (BrokenLineError, MalformedError):
            if stream.leaves_at is None:
                raise
            self._drop(stream)
        else:
            self._take(stream, hints)

    def _take(self, stream: Stream, told: Sequence[Hints]) -> None:
        for hints in told:
            self._moved |= stream.moved(hints)
            self._anything |= hints.anything
        if told and told[-1].end is not None:
            self._drop(stream)
            topics = stream.topics & self._wanted
            if stream.leaves_at is None and topics:
                # The server has ended it, to be followed anew, perhaps on another replica. Meanwhile nobody listened.
                self._open(topics, time.monotonic() + self._patience)
                self._moved |= topics

    def _see_off(self, now: float) -> None:
        """Drop the streams that others have taken over for, a while ago."""
        leaving = [stream for stream in self._streams if stream.leaves_at is not None]
        for stream in leaving[:-LINGER_AT_MOST]:
            # Too soon: what it might still have said is looked at.
            self._moved |= stream.topics & self._wanted
            self._drop(stream)
        for stream in leaving[-LINGER_AT_MOST:]:
            if stream.leaves_at is not None and now >= stream.leaves_at:
                self._drop(stream)

    def _hear_for(self, seconds: float) -> bool:
        """Wait for hints or an interrupt, at most so long; return whether there was one."""
        by_number = {stream.line.fileno(): stream for stream in self._streams}
        ready, interrupted = self._sleep(seconds, *by_number)
        for number in ready & by_number.keys():
            self._hear(by_number[number])
        return interrupted

    def _drop(self, stream: Stream) -> None:
        if stream in self._streams:
            self._streams.remove(stream)
        stream.line.close()

    @contextlib.contextmanager
    def _entered(self) -> Iterator[None]:
        with self._inside():
            try:
                yield
            except (BrokenLineError, MalformedError) as exc:
                # Whoever closes hangs up on the streams: that is no fault of the server.
                self._check_open()
                said = f"the hints of {self._calls.name} were interrupted: {exc}"
                raise DurableStreamUnavailableError(said) from exc
            self._check_open()

    def _check_open(self) -> None:
        if self._closed:
            raise DurableStreamUnavailableError("the watch is closed")

    @override
    def _cut_short(self) -> None:
        for stream in tuple(self._streams):
            stream.line.hang_up()

    @override
    def _release(self) -> None:
        for stream in self._streams:
            stream.line.close()
        self._streams = []

    @override
    def _abandon(self) -> None:
        for stream in self._streams:
            stream.line.disown()
        self._streams = []
