"""The stores that ship with Tailrace, as stores under test, and any other by its URL."""

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from tailrace import spi
from tailrace.backends.memory import MemoryStore
from tailrace.backends.memory.backend import MemoryBackup
from tailrace.errors import DurableStreamError
from tailrace.options import StoreOptions, parse_url
from tailrace.spi import Backend
from tailrace.testing.outcome import not_run
from tailrace.testing.stores import StoreUnderTest


class MemoryUnderTest(StoreUnderTest):
    """The reference store."""

    name = "memory"

    def __init__(self) -> None:
        super().__init__()
        self._store = MemoryStore()

    def open(self, options: StoreOptions | None = None) -> Backend:
        return MemoryStore(options, beside=self._store)

    def backup(self) -> object:
        return self._store.backup()

    def restore(self, backup: object) -> None:
        assert isinstance(backup, MemoryBackup)
        self._store.restore(backup)


class SqliteUnderTest(StoreUnderTest):
    """A file of its own in ``folder``."""

    name = "sqlite"

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.path = folder / "events.db"
        self._copies = 0

    def url(self) -> str:
        return f"sqlite:///{quote(str(self.path))}"

    def open(self, options: StoreOptions | None = None) -> Backend:
        return spi.open_store(parse_url(self.url()), options or StoreOptions())

    def backup(self) -> object:
        self._copies += 1
        copy = self.path.with_suffix(f".backup{self._copies}")
        _copy(self.path, copy)
        return copy

    def restore(self, backup: object) -> None:
        # Through SQLite and not by replacing the file: whoever has it open sees one transaction.
        assert isinstance(backup, Path)
        _copy(backup, self.path)


class UrlUnderTest(StoreUnderTest):
    """A store that already exists and may hold what is not ours: only topics of our own are touched."""

    disposable = False

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = parse_url(url)
        self.name = self._url.scheme

    def url(self) -> str | None:
        return None if self._url.scheme == "memory" else self._url.raw

    def unavailable(self) -> str | None:
        try:
            self.open().close()
        except DurableStreamError as error:
            return str(error)
        return None

    def open(self, options: StoreOptions | None = None) -> Backend:
        if options is not None and not options.retention.unbounded:
            not_run("a retention setting could touch other topics of this store")
        return spi.open_store(self._url, options or StoreOptions())


def under_test(url: str) -> StoreUnderTest:
    """Return what tests the store that a URL names; a memory store is always a fresh one."""
    return MemoryUnderTest() if parse_url(url).scheme == "memory" else UrlUnderTest(url)


def _copy(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source, timeout=10)) as before, closing(sqlite3.connect(target, timeout=10)) as after:
        before.backup(after)
