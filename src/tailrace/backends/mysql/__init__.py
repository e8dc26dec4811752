"""MySQL and MariaDB: shared by many hosts, as durable as the server is set to be. See ``docs/design/mysql.md``."""

from tailrace.backends.mysql.backend import MysqlStore, open_store
from tailrace.backends.mysql.migrating import open_schema

__all__ = ["MysqlStore", "open_schema", "open_store"]
