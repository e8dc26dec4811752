"""SQLite, the embedded default: one file, many threads and processes, no server. See ``docs/design/sqlite.md``."""

from tailrace.backends.sqlite.backend import SqliteStore, open_store

__all__ = ["SqliteStore", "open_store"]
