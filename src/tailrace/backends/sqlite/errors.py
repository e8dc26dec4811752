"""The one place where sqlite3's and the operating system's errors become ours.

Which class decides what the engine does: a plain unavailable error is ridden out, a ``StoreUnusableError``
is told at once.
"""

import errno
import sqlite3
from types import TracebackType

from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError

_UNUSABLE = {
    sqlite3.SQLITE_NOTADB: "is not a SQLite database",
    sqlite3.SQLITE_CORRUPT: "is damaged: restore it from a backup, or salvage it with the sqlite3 shell's .recover",
    sqlite3.SQLITE_READONLY: "can not be written with the rights of this process",
    sqlite3.SQLITE_CANTOPEN: "can not be opened: check that its directory exists and may be written",
    sqlite3.SQLITE_FULL: "has no space left on its disk: nothing was stored; free some and go on",
    sqlite3.SQLITE_PERM: "can not be opened with the rights of this process",
    sqlite3.SQLITE_AUTH: "can not be opened with the rights of this process",
}
_TRANSIENT = {
    sqlite3.SQLITE_BUSY: "is kept busy by another program",
    sqlite3.SQLITE_LOCKED: "is kept busy by another program",
    sqlite3.SQLITE_PROTOCOL: "is kept busy by another program",
    sqlite3.SQLITE_IOERR: "could not be read or written",
    sqlite3.SQLITE_NOMEM: "needs more memory than there is",
    sqlite3.SQLITE_INTERRUPT: "was interrupted",
}


class Mapped:
    """A context manager, to be used again and again, that lets no driver exception out of its block.

    Args:
        what: Names the store in messages.

    Raises:
        StoreUnusableError: Waiting will not help.
        DurableStreamUnavailableError: It might.
    """

    __slots__ = ("_what",)

    def __init__(self, what: object) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(exc, sqlite3.Error):
            raise explain(exc, self._what) from exc
        if isinstance(exc, OSError):
            raise _explain_os(exc, self._what) from exc
        if isinstance(exc, UnicodeDecodeError):
            # The driver could not even read SQLite's own message, which quotes the damaged bytes.
            raise StoreUnusableError(f"{self._what} {_UNUSABLE[sqlite3.SQLITE_CORRUPT]}") from exc


def primary_code(exc: sqlite3.Error) -> int:
    """Return SQLite's result code without its extension, 0 when the driver gave none."""
    return int(getattr(exc, "sqlite_errorcode", None) or 0) & 0xFF


def busy(exc: sqlite3.Error) -> bool:
    """Whether trying again in a moment is all that is needed."""
    return primary_code(exc) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)


def explain(exc: sqlite3.Error, what: object) -> DurableStreamUnavailableError:
    """Return our error for one of sqlite3's."""
    code = primary_code(exc)
    if code in _TRANSIENT:
        return DurableStreamUnavailableError(f"{what} {_TRANSIENT[code]} ({exc})")
    if code in _UNUSABLE:
        return StoreUnusableError(f"{what} {_UNUSABLE[code]} ({exc})")
    if isinstance(exc, sqlite3.DatabaseError) and "no such table" in str(exc):
        return StoreUnusableError(f"{what} lost its tables: restore it from a backup ({exc})")
    if isinstance(exc, sqlite3.DataError):
        return StoreUnusableError(f"{what} can not hold a record that large ({exc})")
    return DurableStreamUnavailableError(f"{what} could not be used ({exc})")


def _explain_os(exc: OSError, what: object) -> DurableStreamUnavailableError:
    reason = exc.strerror or str(exc)
    if exc.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StoreUnusableError(f"{what} can not be written with the rights of this process ({reason})")
    if exc.errno in (errno.ENOENT, errno.ENOTDIR):
        return StoreUnusableError(f"{what} can not be opened: its directory does not exist ({reason})")
    if exc.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreUnusableError(f"{what} has no space left on its disk: nothing was stored; free some and go on")
    if exc.errno == errno.EISDIR:
        return StoreUnusableError(f"{what} is a directory, not a database file")
    return DurableStreamUnavailableError(f"{what} could not be used ({reason})")
