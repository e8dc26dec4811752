"""What the kit needs to know about a store: subclass ``StoreUnderTest`` for your own.

``open`` is all that must be written. What a store can not do stays as it is here, and the cases that
need it are reported as not run.
"""

import secrets
from collections.abc import Sequence
from contextlib import AbstractContextManager

from tailrace import spi
from tailrace.options import StoreOptions
from tailrace.retention import Retention
from tailrace.testing.outcome import not_run
from tailrace.testing.peers import OtherProcess, Peer, SameProcess

_SEEN_AT_ONCE = 4096


class StoreUnderTest:
    """One store, and the hands of an operator on it. Made anew for every case; not thread-safe."""

    name = "unnamed"
    """Short, for reports and ``--require-stores``."""

    disposable = True
    """Whether nothing else lives in this store, so that sweeps and restores may touch all of it."""

    def __init__(self) -> None:
        self._prefix = f"kit-{secrets.token_hex(6)}-"
        self._named = 0
        self._tool: spi.Backend | None = None

    def open(self, options: StoreOptions | None = None) -> spi.Backend:
        """Return a new handle on this store, as independent as one of another process would be."""
        raise NotImplementedError

    def unavailable(self) -> str | None:
        """Say in one sentence why this store can not be tested here, if it can not."""
        return None

    def url(self) -> str | None:
        """Return a URL under which another process finds this store, if there is one."""
        return None

    def backup(self) -> object:
        """Return a copy of the whole store, as an operator would make it."""
        not_run(f"{self.name} offers the kit no backup")

    def restore(self, backup: object) -> None:
        """Put a copy back under the feet of whoever is connected."""
        not_run(f"{self.name} offers the kit no restore")

    def hold(self, topic: str) -> AbstractContextManager[None]:
        """Keep a topic that exists locked during the block, as a transaction of somebody else does that stays open."""
        not_run(f"{self.name} offers the kit no lock")

    def close(self) -> None:
        """Remove the topics of this case, and let go of the store."""
        if not self.disposable and self._named and isinstance(self.tool, spi.Maintenance):
            for info in self.tool.topics(prefix=self._prefix, limit=_SEEN_AT_ONCE):
                self.tool.delete(info.name)
        if self._tool is not None:
            self._tool.close()

    @property
    def tool(self) -> spi.Backend:
        """A handle of the kit's own, to look at the store without the engine."""
        if self._tool is None:
            self._tool = self.open()
        return self._tool

    @property
    def operations(self) -> spi.Maintenance:
        """The store's operations, on the kit's own handle."""
        if not isinstance(self.tool, spi.Maintenance):
            not_run(f"{self.name} has no maintenance interface")
        return self.tool

    def fresh_name(self, suffix: str = "") -> str:
        """Return a topic name that nobody has used."""
        self._named += 1
        return f"{self._prefix}{self._named}{suffix}"

    def peer(self) -> Peer:
        """Return somebody else who works on this store: another process where there can be one."""
        url = self.url()
        return SameProcess(self.open()) if url is None else OtherProcess(url)

    def contents(self, topic: str) -> list[bytes]:
        """Return every retained payload, read without the engine; empty if there is no such topic."""
        while True:
            found = self._retained(topic)
            if found is not None:
                return found

    def _retained(self, topic: str) -> list[bytes] | None:
        """Return what ``contents`` does, or None if retention passed the reader between two looks."""
        bounds = self.tool.bounds(topic)
        if isinstance(bounds, spi.Unborn):
            return []
        after: spi.Place = bounds.beginning
        found: list[bytes] = []
        while True:
            (page,) = self.tool.read([spi.ReadRequest(topic, after, 512, 2**22)])
            if isinstance(page, spi.PositionLost):
                return None
            assert isinstance(page, spi.Page), page
            # By place: a store may hand on its driver's own rows.
            found += [payload for _position, _tag, payload in page.records]
            after = page.end
            if not page.more:
                return found

    def exists(self, topic: str) -> bool:
        """Return whether the store holds that topic, records or not."""
        return isinstance(self.tool.bounds(topic), spi.Bounds)

    def trim(self, topic: str, *, keep: int) -> int:
        """Remove all but the last ``keep`` records, now."""
        return self.operations.trim(topic, Retention(max_records=keep))

    def delete(self, topic: str) -> None:
        """Delete a topic that exists."""
        assert self.operations.delete(topic) is True

    def recreate(self, topic: str, payloads: Sequence[bytes]) -> None:
        """Replace a topic by another one of the same name."""
        self.delete(topic)
        self.grow(topic, payloads)

    def regrow(self, backup: object, topic: str, payloads: Sequence[bytes]) -> None:
        """Restore a backup and let the topic grow again, with another history."""
        self.restore(backup)
        self.grow(topic, payloads)

    def grow(self, topic: str, payloads: Sequence[bytes]) -> None:
        """Append, one commit per payload, without the engine."""
        for payload in payloads:
            (outcome,) = self.tool.append([spi.Entry(topic, [payload])], 10.0)
            assert isinstance(outcome, spi.Appended), outcome
