"""The tables of a PostgreSQL database, for ``tailrace migrate``."""

import time
from collections.abc import Sequence

from typing_extensions import override

from tailrace.backends.postgres import schema
from tailrace.backends.postgres.location import Location, locate
from tailrace.backends.postgres.session import Session
from tailrace.backends.postgres.tables import Tables
from tailrace.options import StoreOptions, StoreURL
from tailrace.spi import Migration, Schema


class PostgresSchema(Schema):
    """The tables of one schema and prefix, which need not exist. Blocking."""

    def __init__(self, location: Location, options: StoreOptions) -> None:
        self._session = Session(location)
        self._tables = Tables(location.schema, location.prefix)
        self._patience = options.append_timeout

    @property
    @override
    def newest(self) -> int:
        return schema.newest()

    @override
    def version(self) -> int:
        return schema.version(self._session, self._tables, time.monotonic() + self._patience)

    @override
    def pending(self) -> Sequence[Migration]:
        found = schema.pending(self._session, self._tables, time.monotonic() + self._patience)
        # Whoever runs one elsewhere runs it whole or not at all, too.
        return [Migration(step.version, f"BEGIN;\n{step.script}COMMIT;\n") for step in found]

    @override
    def apply(self) -> None:
        schema.migrate(self._session, self._tables, schema.MIGRATION_SECONDS)

    @override
    def close(self) -> None:
        self._session.close()


def open_schema(url: StoreURL, options: StoreOptions) -> Schema:
    """Open the tables of ``postgresql://user:password@host:port/database?schema=...&prefix=...``."""
    return PostgresSchema(locate(url), options)
