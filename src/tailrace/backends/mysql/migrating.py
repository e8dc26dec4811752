"""The tables of a MySQL or MariaDB database, for ``tailrace migrate``."""

import time
from collections.abc import Sequence

from typing_extensions import override

from tailrace.backends.mysql import schema
from tailrace.backends.mysql.calls import Calls
from tailrace.backends.mysql.errors import DENIED, code_of
from tailrace.backends.mysql.location import Location, locate
from tailrace.errors import StoreUnusableError
from tailrace.options import StoreOptions, StoreURL
from tailrace.spi import Migration, Schema


class MysqlSchema(Schema):
    """The tables of one prefix, which need not exist. Blocking."""

    def __init__(self, location: Location, options: StoreOptions) -> None:
        self._calls = Calls(location)
        self._prefix = location.prefix
        self._patience = options.append_timeout

    @property
    @override
    def newest(self) -> int:
        return schema.newest()

    @override
    def version(self) -> int:
        deadline = time.monotonic() + self._patience
        found = self._calls.again(lambda line: schema.version(line, self._prefix, deadline), deadline)
        schema.refuse_newer(self._calls, found)
        return found

    @override
    def pending(self) -> Sequence[Migration]:
        try:
            after = self.version()
        except StoreUnusableError as exc:
            # The server does not tell who has no rights whether there are tables. All of it can be run again.
            if exc.__cause__ is None or code_of(exc.__cause__) != DENIED:
                raise
            after = 0
        return [
            Migration(number, b";\n".join([*statements, b""]).decode())
            for number, statements in schema.steps(self._prefix, after)
        ]

    @override
    def apply(self) -> None:
        schema.migrate(self._calls, self._prefix, time.monotonic() + schema.MIGRATION_SECONDS)

    @override
    def close(self) -> None:
        self._calls.close()


def open_schema(url: StoreURL, options: StoreOptions) -> Schema:
    """Open the tables of ``mysql://user:password@host:3306/database`` or ``mariadb://``."""
    return MysqlSchema(locate(url), options)
