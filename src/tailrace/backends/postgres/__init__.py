"""PostgreSQL, for teams that have a database and no broker. See ``docs/design/sql.md``."""

from tailrace.backends.postgres.backend import PostgresStore, open_store
from tailrace.backends.postgres.migrating import open_schema

__all__ = ["PostgresStore", "open_schema", "open_store"]
