"""Hearing of appends: the server tells nobody, so it is asked, often while things move and less while nothing does.

What one look costs, and what it finds: ``looking.py``.
"""

import contextlib
import time
from collections.abc import Collection, Iterator

from typing_extensions import override

from tailrace.backends.mysql.dialing import dial
from tailrace.backends.mysql.errors import explain
from tailrace.backends.mysql.line import CutShort
from tailrace.backends.mysql.location import Location
from tailrace.backends.mysql.looking import Looking
from tailrace.backends.mysql.tables import Statements
from tailrace.backends.vigil import Vigil
from tailrace.spi import Changes


class MysqlWatch(Vigil):
    """One engine's view of what moved, over one connection."""

    def __init__(self, location: Location, statements: Statements, patience: float) -> None:
        super().__init__()
        self._name = location.name
        try:
            self._line = dial(location, time.monotonic() + patience)
        except BaseException:
            self._close_pipe()
            raise
        self._looking = Looking(self._line, statements, location.poll_min, location.poll_max, patience)

    @property
    @override
    def reliable(self) -> bool:
        return not self._closed

    @override
    def follow(self, added: Collection[str], dropped: Collection[str]) -> None:
        with self._entered():
            self._looking.follow(added, dropped)

    @override
    def wait(self, timeout: float) -> Changes:
        deadline = time.monotonic() + timeout
        with self._entered():
            while True:
                now = time.monotonic()
                if now >= self._looking.due:
                    moved, anything = self._looking.look()
                    if moved or anything:
                        return Changes(moved, anything)
                    now = time.monotonic()
                _, interrupted = self._sleep(min(deadline, self._looking.due) - now)
                if interrupted or time.monotonic() >= deadline:
                    return Changes()

    @contextlib.contextmanager
    def _entered(self) -> Iterator[None]:
        with self._inside():
            try:
                yield
            except CutShort as exc:
                raise explain(exc.error, self._name) from exc.error

    @override
    def _cut_short(self) -> None:
        # The driver waits for an answer on its own.
        self._line.hang_up()

    @override
    def _release(self) -> None:
        self._line.close()

    @override
    def _abandon(self) -> None:
        self._line.disown()
