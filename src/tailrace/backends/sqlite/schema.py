"""Which release's tables a file holds, and bringing them up to this one. Forward only.

The file says whose it is in ``application_id`` and how far it is in ``user_version``. Who migrates holds the
gate, so that two processes that open a new file at once do not both create it.
"""

import sqlite3
from collections.abc import Sequence

from tailrace.backends.sql.migrations import Migration, found_in
from tailrace.errors import StoreUnusableError

APPLICATION_ID = 0x7A11ACE0
"""Marks a SQLite file as ours."""


def migrations() -> Sequence[Migration]:
    """Return every migration, in order."""
    return found_in("tailrace.backends.sqlite")


def newest() -> int:
    """Return the schema version of this release."""
    return migrations()[-1][0]


def check(connection: sqlite3.Connection, what: object) -> int:
    """Return the file's schema version; 0 for an empty file.

    Raises:
        StoreUnusableError: It belongs to another application or to a newer release.
    """
    # In one look: another process may be making the tables of a new file between two of them, and then there would be
    # tables without our mark.
    connection.execute("BEGIN")
    ((application,),) = connection.execute("PRAGMA application_id")
    ((version,),) = connection.execute("PRAGMA user_version")
    ((tables,),) = connection.execute("SELECT count(*) FROM sqlite_master")
    connection.execute("COMMIT")
    if application != APPLICATION_ID and (application or version or tables):
        raise StoreUnusableError(f"{what} is a database of another application: give Tailrace a file of its own")
    if version > newest():
        raise StoreUnusableError(
            f"{what} was written by a newer release (schema {version}, this one knows {newest()}): upgrade tailrace"
        )
    return int(version)


def migrate(connection: sqlite3.Connection, what: object) -> None:
    """Apply what is missing, each migration whole or not at all. A failure leaves a transaction to roll back."""
    version = check(connection, what)
    for number, script in migrations():
        if number > version:
            connection.executescript(
                f"BEGIN IMMEDIATE;\n{script}\n;PRAGMA application_id = {APPLICATION_ID};"
                f"PRAGMA user_version = {number};COMMIT;"
            )
