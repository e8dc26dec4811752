"""Which release's tables a database holds, and bringing them up to this one. Forward only.

DDL commits by itself, so a migration can end halfway: each is such that it can be run again, and is noted only when all
of it was run. Whoever migrates holds a lock of the server that is named after the tables.
"""

import hashlib
import re
import time
from collections.abc import Sequence

from tailrace.backends.mysql import literals
from tailrace.backends.mysql.calls import Calls
from tailrace.backends.mysql.errors import NO_TABLE, code_of
from tailrace.backends.mysql.line import CutShort, Line
from tailrace.backends.mysql.tables import filled
from tailrace.backends.sql.migrations import found_in
from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError
from tailrace.spi import Migration

_MAKE_VERSION = b"""CREATE TABLE IF NOT EXISTS {version} (
    only_one TINYINT NOT NULL PRIMARY KEY, version INT NOT NULL
) ENGINE = InnoDB"""
_NOTE = b"REPLACE INTO {version} (only_one, version) VALUES (1, %d)"

MIGRATION_SECONDS = 3600.0
"""A migration may have to rewrite what is there."""

LOCK_SECONDS = 60
"""How long somebody else who migrates is waited for."""

_COMMENT = re.compile(rb"--[^\n]*")


def migrations() -> Sequence[Migration]:
    """Return every migration, in order."""
    return found_in("tailrace.backends.mysql")


def newest() -> int:
    """Return the schema version of this release."""
    return migrations()[-1][0]


def steps(prefix: str, after: int) -> list[tuple[int, list[bytes]]]:
    """Return what brings tables of a version up to this release: for each version the statements that lead to it."""
    found = []
    first = [] if after else [filled(_MAKE_VERSION, prefix)]
    for number, script in migrations():
        if number > after:
            parts = _COMMENT.sub(b"", script.encode()).split(b";\n")
            made = [filled(part.strip().rstrip(b";"), prefix) for part in parts if part.strip()]
            found.append((number, [*first, *made, filled(_NOTE, prefix) % number]))
            first = []
    return found


def version(line: Line, prefix: str, deadline: float) -> int:
    """Return the version of the tables that there are; 0 for none."""
    try:
        rows = line.ask([filled(b"SELECT version FROM {version}", prefix)], deadline)[-1]
    except CutShort as exc:
        if code_of(exc.error) == NO_TABLE:
            return 0
        raise
    return int(rows[0][0]) if rows else 0


def check(calls: Calls, prefix: str, deadline: float, *, create: bool = False) -> None:
    """Refuse tables that are not of this release.

    Args:
        create: Whether to make them if there are none, and to bring older ones up to this release.

    Raises:
        StoreUnusableError: There are none, or they are older or newer.
    """
    found = calls.again(lambda line: version(line, prefix, deadline), deadline)
    if found < newest() and create:
        migrate(calls, prefix, time.monotonic() + MIGRATION_SECONDS)
        return
    if found == 0:
        raise StoreUnusableError(
            f"{calls.name} has no tables with the prefix {prefix!r}: run `tailrace migrate`, or connect with "
            "create=True"
        )
    if found < newest():
        raise StoreUnusableError(
            f"{calls.name} has tables of an older release (schema {found}, this one needs {newest()}): "
            "run `tailrace migrate`"
        )
    refuse_newer(calls, found)


def refuse_newer(calls: Calls, found: int) -> None:
    """Refuse tables of a newer release.

    Raises:
        StoreUnusableError: They are.
    """
    if found > newest():
        raise StoreUnusableError(
            f"{calls.name} has tables of a newer release (schema {found}, this one knows {newest()}): upgrade tailrace"
        )


def migrate(calls: Calls, prefix: str, deadline: float) -> None:
    """Apply what is missing.

    Raises:
        StoreUnusableError: The tables are of a newer release, or this user may not make any.
        DurableStreamUnavailableError: Somebody else is at it, for too long.
    """

    def work(line: Line) -> None:
        database = line.ask([b"SELECT DATABASE()"], deadline)[-1][0][0]
        # Names of locks have 64 characters on the whole server.
        key = hashlib.blake2b(f"{database}.{prefix}".encode(), digest_size=16).hexdigest()
        lock = literals.text(f"tailrace {key}".encode())
        patience = max(1, min(LOCK_SECONDS, int(deadline - time.monotonic())))
        if not line.ask([b"SELECT GET_LOCK(%b, %d)" % (lock, patience)], deadline)[-1][0][0]:
            raise DurableStreamUnavailableError(f"{calls.name} is being migrated by somebody else")
        try:
            found = version(line, prefix, deadline)
            if found < newest():
                for _, statements in steps(prefix, found):
                    for statement in statements:
                        line.ask([statement], deadline)
        finally:
            line.ask([b"SELECT RELEASE_LOCK(%b)" % lock], deadline)

    calls.again(work, deadline)
    check(calls, prefix, deadline)
