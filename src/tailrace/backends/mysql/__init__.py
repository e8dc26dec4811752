"""MySQL and MariaDB: shared by many hosts, as durable as the server is set to be. See ``docs/design/mysql.md``."""

from tailrace.backends.mysql.backend import MysqlStore, open_engine, open_store
from tailrace.backends.mysql.engines import from_engine
from tailrace.backends.mysql.migrating import open_schema

__all__ = ["MysqlStore", "from_engine", "open_engine", "open_schema", "open_store"]
