"""PostgreSQL, for teams that have a database and no broker. See ``docs/design/sql.md``."""

from tailrace.backends.postgres.backend import PostgresStore, open_store

__all__ = ["PostgresStore", "open_store"]
