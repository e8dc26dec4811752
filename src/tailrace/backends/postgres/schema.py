"""Which release's tables a database holds, and bringing them up to this one. Forward only."""

import time
from collections.abc import Sequence

from tailrace.backends.postgres.session import Session
from tailrace.backends.postgres.tables import Tables
from tailrace.backends.postgres.wire import Wire
from tailrace.backends.sql.migrations import found_in
from tailrace.errors import StoreUnusableError
from tailrace.spi import Migration

OLDEST_SERVER = 12

MIGRATION_SECONDS = 600.0
"""A migration may have to rewrite what is there."""

_LOOK = b"""
SELECT current_setting('server_version_num')::int, current_setting('server_version'),
    (SELECT has_schema_privilege(n.oid, 'USAGE') FROM pg_namespace n WHERE n.nspname = %(schema)b::text),
    EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = %(schema)b::text AND c.relname = %(version)b::text)
"""
_SCHEMA = b"SELECT 1 FROM pg_namespace WHERE nspname = %(schema)b::text"
_LOCK = b"SELECT pg_advisory_xact_lock(hashtextextended(%(schema)b::text, 0))"


class OutdatedSchemaError(StoreUnusableError):
    """There are tables of an older release, or none yet."""


def migrations() -> Sequence[Migration]:
    """Return every migration, in order."""
    return found_in("tailrace.backends.postgres")


def newest() -> int:
    """Return the schema version of this release."""
    return migrations()[-1][0]


def check(session: Session, tables: Tables, deadline: float) -> str:
    """Look whether this release can use the tables; return the server's version.

    Raises:
        OutdatedSchemaError: There are none yet, or they are of an older release.
        StoreUnusableError: It can not use them; the message says what to do.
    """
    with session.lent(deadline, "read") as wire:
        version, found = _look(wire, tables, session.name, deadline)
    if found < newest():
        what = f"tables of an older release (schema {found})" if found else "no tables of Tailrace"
        raise OutdatedSchemaError(
            f"{session.name} has {what} in the schema {tables.schema}: run `tailrace migrate`, "
            "or connect with create=True"
        )
    return version


def version(session: Session, tables: Tables, deadline: float) -> int:
    """Return the version of the tables that there are; 0 for none.

    Raises:
        StoreUnusableError: They are of a newer release, or can not be looked at.
    """
    with session.lent(deadline, "read") as wire:
        return _look(wire, tables, session.name, deadline)[1]


def pending(session: Session, tables: Tables, deadline: float) -> Sequence[Migration]:
    """Return what is missing, as it would be run.

    Raises:
        StoreUnusableError: There are tables of a newer release, or such as can not be looked at.
    """
    with session.lent(deadline, "read") as wire:
        return _steps(wire, tables, _look(wire, tables, session.name, deadline)[1], deadline)


def migrate(session: Session, tables: Tables, timeout: float) -> None:
    """Apply what is missing: all of it, or nothing.

    Raises:
        StoreUnusableError: This user may not, or the tables are of a newer release.
    """
    deadline = time.monotonic() + timeout
    with session.lent(deadline, "migrate") as wire:
        # An error leaves a transaction that is open, and with it a connection that is not kept.
        wire.ask(b"BEGIN ISOLATION LEVEL READ COMMITTED", None, deadline)
        wire.ask(b"SET LOCAL lock_timeout = 0", None, deadline)
        # Of two that come at once, the other one finds everything made. Also if it is for another prefix: a schema that
        # somebody else makes can not be seen before his commit, and can not be made after it.
        wire.ask(_LOCK, {"schema": f"tailrace {tables.schema}"}, deadline)
        _, found = _look(wire, tables, session.name, deadline)
        if found < newest():
            for step in _steps(wire, tables, found, deadline):
                # Without values, so that one may be several statements.
                wire.deadline = deadline
                wire.execute(step.script.encode())
        wire.ask(b"COMMIT", None, deadline)


def _look(wire: Wire, tables: Tables, name: str, deadline: float) -> tuple[str, int]:
    values = {"version": f"{tables.prefix}version", "schema": tables.schema}
    ((number, version, allowed, there),) = wire.ask(_LOOK, values, deadline)
    if number < OLDEST_SERVER * 10000:
        raise StoreUnusableError(f"{name} is PostgreSQL {version}: {OLDEST_SERVER} or newer is needed")
    if allowed is False and there:
        raise StoreUnusableError(f"{name} does not let this user into the schema {tables.schema}: grant it USAGE on it")
    found = 0
    if there:
        ((found,),) = wire.ask(f"SELECT coalesce(max(number), 0) FROM {tables['version']}".encode(), None, deadline)
    if found > newest():
        raise StoreUnusableError(
            f"{name} has tables of a newer release (schema {found}, this one knows {newest()}): upgrade tailrace"
        )
    return str(version), found


def _steps(wire: Wire, tables: Tables, found: int, deadline: float) -> Sequence[Migration]:
    first = []
    if not found:
        if not wire.ask(_SCHEMA, {"schema": tables.schema}, deadline):
            # Not IF NOT EXISTS, which asks for the right to make schemas also where there is one.
            first.append(tables.fill("CREATE SCHEMA {schema};\n"))
        first.append(tables.fill("CREATE TABLE IF NOT EXISTS {version} (number bigint PRIMARY KEY);\n"))
    steps = []
    for number, script in migrations():
        if number > found:
            noted = tables.fill(f"INSERT INTO {{version}} VALUES ({number});\n")
            steps.append(Migration(number, f"{''.join(first)}\n{tables.fill(script).strip()}\n\n{noted}"))
            first = []
    return steps
