"""What the kit needs to know about a place for live messages: subclass ``PlaceUnderTest`` for your own."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from tailrace.testing.outcome import not_run


class PlaceUnderTest:
    """One place, and the hands of an operator on it. Made anew for every case; not thread-safe.

    ``url`` is all that must be written.

    Attributes:
        last_name: The topic name that was asked for last.
    """

    name = "unnamed"
    """Short, for reports and ``--require-stores``."""

    fixes_starts = False
    """Whether ``subscribe`` itself fixes the start, before anything is entered."""

    ordered_entry = True
    """Whether a message whose ``publish`` had returned before a subscription was entered never reaches that one."""

    def __init__(self) -> None:
        self._prefix = f"kit-{secrets.token_hex(6)}-"
        self._named = 0
        self.last_name = ""

    def url(self) -> str:
        """Return where every channel of a case is opened."""
        raise NotImplementedError

    def unavailable(self) -> str | None:
        """Say in one sentence why this place can not be tested here, if it can not."""
        return None

    @contextmanager
    def broken(self) -> Iterator[None]:
        """Break all connections, and let none be opened during the block."""
        not_run(f"{self.name} has no connection that could break")
        yield

    def kept(self) -> object:
        """Return a copy of everything that is stored at the place, to be compared."""
        return None

    def close(self) -> None:
        """Let go of the place."""

    def fresh_name(self, suffix: str = "") -> str:
        """Return a topic name that nobody has used."""
        self._named += 1
        self.last_name = f"{self._prefix}{self._named}{suffix}"
        return self.last_name


class MemoryPlaceUnderTest(PlaceUnderTest):
    """The reference."""

    name = "broadcast-memory"

    def url(self) -> str:
        return f"memory://{self._prefix}"
