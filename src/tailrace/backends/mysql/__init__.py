"""MySQL and MariaDB: shared by many hosts, as durable as the server is set to be. See ``docs/design/mysql.md``."""

from tailrace.backends.mysql.backend import MysqlStore, open_store

__all__ = ["MysqlStore", "open_store"]
