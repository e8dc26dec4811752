"""SQLite, the embedded default: one file, many threads and processes, no server. See ``docs/design/sqlite.md``."""

from tailrace.backends.sqlite.backend import SqliteStore, open_engine, open_store
from tailrace.backends.sqlite.tables import SqliteSchema, open_schema

__all__ = ["SqliteSchema", "SqliteStore", "open_engine", "open_schema", "open_store"]
