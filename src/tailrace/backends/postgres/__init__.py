"""PostgreSQL, for teams that have a database and no broker. See ``docs/design/sql.md``."""

from tailrace.backends.postgres.backend import PostgresStore, open_engine, open_store
from tailrace.backends.postgres.engines import from_engine
from tailrace.backends.postgres.migrating import open_schema

__all__ = ["PostgresStore", "from_engine", "open_engine", "open_schema", "open_store"]
