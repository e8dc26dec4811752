"""How each kind of connection is opened, and what is checked before it is used."""

import contextlib
import os
import sqlite3
from pathlib import Path

from tailrace.backends.sqlite import schema
from tailrace.backends.sqlite.location import Location
from tailrace.errors import StoreUnusableError


class OutdatedSchemaError(StoreUnusableError):
    """The file has tables of an older release, or none yet."""


BUSY_SECONDS = 0.02
"""How long SQLite itself waits for a lock, deaf to everything else; beyond it we wait, and can be interrupted."""


def find(location: Location, create: bool) -> None:
    """Make sure that there is a file, making an empty one if allowed.

    Raises:
        StoreUnusableError: There can be none, or it may not be made.
    """
    path = location.path
    if Path(path).is_dir():
        raise StoreUnusableError(f"{path} is a directory, not a database file")
    if not Path(location.folder).is_dir():
        raise StoreUnusableError(f"{path} can not be opened: its directory does not exist")
    if not Path(path).exists():
        if not create:
            raise StoreUnusableError(
                f"{path} does not exist, and it is not to be made here: check the path; a writer makes it (create=True)"
            )
        with contextlib.suppress(FileExistsError):
            _create(location)


def writable(location: Location) -> bool:
    """Whether this process may write the file, and beside it where SQLite keeps its log."""
    effective = os.access in os.supports_effective_ids
    return all(os.access(path, os.W_OK, effective_ids=effective) for path in (location.path, location.folder))


def open_writer(location: Location) -> sqlite3.Connection:
    """Open the connection that appends, in write-ahead mode."""
    if not writable(location):
        raise StoreUnusableError(f"{location.path} can not be written with the rights of this process")
    connection = _connect(location.uri("rw"))
    try:
        ((mode,),) = connection.execute("PRAGMA journal_mode = WAL")
        if mode != "wal":
            raise StoreUnusableError(f"{location.path} can not use a write-ahead log: is it on a network file system?")
        connection.execute(f"PRAGMA synchronous = {location.synchronous}")
        connection.execute("PRAGMA fullfsync = ON")
        schema.migrate(connection, location.path)
    except BaseException:
        close_quietly(connection)
        raise
    return connection


def open_reader(location: Location) -> sqlite3.Connection:
    """Open a connection that reads, with whatever rights this process has."""
    connection = _connect(location.uri("rw" if writable(location) else _read_only_mode(location)))
    return _checked(connection, location)


def open_unchecked(location: Location) -> sqlite3.Connection:
    """Open a connection that only reads, whatever tables there are."""
    return _connect(location.uri(_read_only_mode(location)))


def open_keeper(location: Location) -> sqlite3.Connection:
    """Open a connection that could not write if it wanted to, and hold the shared lock of an open database."""
    return _checked(open_unchecked(location), location)


def close_quietly(connection: sqlite3.Connection) -> None:
    """Close; what is left of a transaction is rolled back."""
    with contextlib.suppress(sqlite3.Error):
        connection.close()


def _connect(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    # A damaged or hostile file must not run code of its own through its schema.
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def _checked(connection: sqlite3.Connection, location: Location) -> sqlite3.Connection:
    try:
        connection.execute("PRAGMA query_only = ON")
        if schema.check(connection, location.path) < schema.newest():
            raise OutdatedSchemaError(
                f"{location.path} has no tables of this release: open it once with write rights to bring it up to date"
            )
    except BaseException:
        close_quietly(connection)
        raise
    return connection


def _read_only_mode(location: Location) -> str:
    # Without its log a file can not change, and SQLite opens it only when told so where it can make none. Where it
    # could (the folder may be written, the file not), it would leave a log of this user's that the owner can not write.
    if Path(f"{location.path}-wal").exists() or writable(location):
        return "ro"
    return "ro&immutable=1"


def _create(location: Location) -> None:
    # Closed only by the one who has just made it: closing any descriptor of a file takes away the locks that SQLite
    # holds on it in this process.
    os.close(os.open(location.path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o644))
