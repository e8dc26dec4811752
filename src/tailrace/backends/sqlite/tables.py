"""The tables of a SQLite file, for ``tailrace migrate``. The store makes them by itself as it opens."""

import dataclasses
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from typing_extensions import override

from tailrace.backends.sqlite import opening, schema
from tailrace.backends.sqlite.backend import SqliteStore
from tailrace.backends.sqlite.errors import Mapped
from tailrace.backends.sqlite.location import Location, locate
from tailrace.options import StoreOptions, StoreURL
from tailrace.spi import Migration, Schema


class SqliteSchema(Schema):
    """The tables of one file, which need not exist. Blocking; nothing stays open between two calls."""

    def __init__(self, location: Location, options: StoreOptions) -> None:
        self._location = location
        self._options = options

    @property
    @override
    def newest(self) -> int:
        return schema.newest()

    @override
    def version(self) -> int:
        if not Path(self._location.path).exists():
            return 0
        with Mapped(self._location.path), closing(opening.open_unchecked(self._location)) as connection:
            return schema.check(connection, self._location.path)

    @override
    def pending(self) -> Sequence[Migration]:
        version = self.version()
        return [migration for migration in schema.migrations() if migration.version > version]

    @override
    def apply(self) -> None:
        SqliteStore(self._location, dataclasses.replace(self._options, create=True)).close()

    @override
    def close(self) -> None:
        """Nothing is open."""


def open_schema(url: StoreURL, options: StoreOptions) -> Schema:
    """Open the tables of ``sqlite:///relative.db`` or ``sqlite:////absolute.db``."""
    return SqliteSchema(locate(url), options)
