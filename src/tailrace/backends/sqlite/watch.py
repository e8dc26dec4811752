"""Hearing the bell: which followed topics other writers, in this process or another, have changed.

Three layers, each behind the other: the kernel wakes us when the bell is rung (or, without inotify, we look at it
often); the bell says which topics; and once a second SQLite is asked whether anybody committed without ringing,
because he died in between, or is no program of ours.
"""

import contextlib
import os
import time
from collections.abc import Collection

from typing_extensions import override

from tailrace.backends.sqlite.bell import Ring, fingerprint, look
from tailrace.backends.sqlite.inotify import forget_writes, writes_to
from tailrace.backends.sqlite.session import Session
from tailrace.backends.vigil import Vigil
from tailrace.spi import Changes

BACKSTOP = 1.0
"""Seconds between two looks for commits that rang no bell."""

BUSY_BACKSTOP = 5.0
"""Seconds after which, among commits that do ring, one that did not is looked for all the same."""

FASTEST_POLL, SLOWEST_POLL = 0.001, 0.02
"""Seconds between two looks at the bell where the kernel does not wake us: soon after a change, and long after."""


class SqliteWatch(Vigil):
    """One engine's view of what moved. Needs no more than read rights."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._names: dict[bytes, set[str]] = {}
        self._pause = FASTEST_POLL
        self._bell: int | None = None
        self._events: int | None = None
        with session.mapped:
            try:
                self._listen()
            except BaseException:
                self.disown()
                raise
        session.watches.add(self)

    @property
    @override
    def reliable(self) -> bool:
        return True

    @override
    def follow(self, added: Collection[str], dropped: Collection[str]) -> None:
        # Nothing to confirm: the bell is for all topics, and what was rung since this watch was made is still there.
        for topic in dropped:
            names = self._names.get(fingerprint(topic), set())
            names.discard(topic)
            if not names:
                self._names.pop(fingerprint(topic), None)
        for topic in added:
            self._names.setdefault(fingerprint(topic), set()).add(topic)

    @override
    def wait(self, timeout: float) -> Changes:
        deadline = time.monotonic() + timeout
        with self._inside(), self._session.mapped:
            while True:
                changes = self._changes()
                left = deadline - time.monotonic()
                if changes.topics or changes.anything or left <= 0 or self._pass(left):
                    return changes

    @override
    def close(self) -> None:
        self._session.watches.discard(self)
        super().close()

    @override
    def _release(self) -> None:
        fds, self._bell, self._events = (self._bell, self._events), None, None
        for fd in fds:
            if fd is not None:
                os.close(fd)

    @override
    def _abandon(self) -> None:
        # The events in them belong to the parent.
        self._release()

    def _listen(self) -> None:
        # First be woken, then look: a ring in between is seen by the look, one after it wakes.
        gate = self._session.location.gate
        self._events = writes_to(gate)
        with contextlib.suppress(FileNotFoundError, PermissionError):
            self._bell = os.open(gate, os.O_RDONLY | os.O_CLOEXEC)
        ring = self._look()
        self._seen = self._seen_at_pulse = 0 if ring is None else ring.rung
        self._pulse = self._session.pulse()
        self._pulse_at = self._all_at = time.monotonic()

    def _look(self) -> Ring | None:
        return None if self._bell is None else look(self._bell)

    def _changes(self) -> Changes:
        ring = self._look()
        moved = set() if ring is None else ring.since(self._seen)
        if ring is not None and ring.rung != self._seen:
            self._seen, self._pause = ring.rung, FASTEST_POLL
        anything = self._committed_unrung() or moved is None
        topics = {name for key in (moved or set()) & self._names.keys() for name in self._names[key]}
        return Changes(frozenset(topics), anything)

    def _committed_unrung(self) -> bool:
        now = time.monotonic()
        if now - self._pulse_at < self._between_pulses():
            return False
        before, self._pulse, self._pulse_at = self._pulse, self._session.pulse(), now
        if self._bell is None or os.fstat(self._bell).st_nlink == 0:
            # A read-only user came before the first writer, or the files were replaced.
            self._listen_again()
        if self._pulse != before and (self._seen == self._seen_at_pulse or now - self._all_at > BUSY_BACKSTOP):
            # Nobody rang since, or so many did that one who did not can not be told from them.
            self._all_at, self._seen_at_pulse = now, self._seen
            return True
        self._seen_at_pulse = self._seen
        return False

    def _listen_again(self) -> None:
        pulse = self._pulse
        self._release()
        self._listen()
        self._pulse = pulse if self._bell is None else (-1, -1)

    def _between_pulses(self) -> float:
        return BACKSTOP if self._bell is not None else SLOWEST_POLL

    def _pass(self, left: float) -> bool:
        """Wait for the kernel, the next look, or an interrupt; return whether it was that."""
        pause = min(left, max(0.0, self._pulse_at + self._between_pulses() - time.monotonic()))
        if self._events is None and self._bell is not None:
            pause, self._pause = min(pause, self._pause), min(self._pause * 1.1, SLOWEST_POLL)
        ready, interrupted = self._sleep(pause, *(() if self._events is None else (self._events,)))
        if self._events is not None and self._events in ready:
            forget_writes(self._events)
        return interrupted
