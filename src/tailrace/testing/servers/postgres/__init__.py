"""PostgreSQL, and PgBouncer in front of it."""

from tailrace.testing.servers.postgres.flavours import Flavour, flavour, flavours
from tailrace.testing.servers.postgres.pgbouncer import PgBouncer
from tailrace.testing.servers.postgres.server import PostgresServer

__all__ = ["Flavour", "PgBouncer", "PostgresServer", "flavour", "flavours"]
