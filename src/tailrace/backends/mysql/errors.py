"""The one place where the drivers' and the server's errors become ours.

Which class decides what the engine does: a plain unavailable error is ridden out, a ``StoreUnusableError`` is told
at once. Both drivers raise errors of the same shape: a number and the server's words.
"""

from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError

DUPLICATE, DEADLOCK, LOCK_WAIT, NO_TABLE, NO_DATABASE, DENIED = 1062, 1213, 1205, 1146, 1049, 1142
NO_SAVEPOINT = 1305

_RIGHTS = "does not allow this user what is needed: see the least rights in the documentation"
_FULL = "has no space left: nothing was stored; free some and go on"
_LARGE = "does not take that much at once: raise max_allowed_packet of the server, or lower max_payload"

_UNUSABLE = {
    1044: "does not let this user in: grant rights on it",
    1045: "does not accept this user and password, or wants TLS of it (ssl_mode=required)",
    1049: "does not exist: create it, or change the URL",
    1142: _RIGHTS,
    1143: _RIGHTS,
    1227: _RIGHTS,
    1370: _RIGHTS,
    1021: _FULL,
    1114: _FULL,
    1153: _LARGE,
    1301: _LARGE,
    1146: "lost its tables, or never had them: run `tailrace migrate`, or restore a backup",
    1054: "has tables that are not ours under these names: use another prefix",
    1286: "has no InnoDB: only that engine can be used",
    1665: "has binlog_format STATEMENT, under which it refuses to write: set it to ROW or MIXED",
    1698: "does not accept this user and password",
    3159: "wants TLS: set ssl_mode=required",
}
_TRANSIENT = {
    DEADLOCK: "had a deadlock, again and again",
    LOCK_WAIT: "is kept locked by another transaction",
    1040: "has no connections left",
    1047: "is not part of its cluster just now",
    1053: "is shutting down",
    1129: "refuses this host after too many broken connections: FLUSH HOSTS lets it in again",
    1203: "has no connections left for this user",
    1226: "has no connections left for this user",
    1290: "is read-only: connect to the primary",
    1317: "had the statement killed",
    1792: "is read-only: connect to the primary",
    1836: "is read-only: connect to the primary",
    1927: "had the connection killed",
    1969: "took longer than its max_statement_time allows",
    3024: "took longer than its max_execution_time allows",
    4031: "closed an idle connection",
}
_LOST = frozenset({1053, 1927, 4031})


def code_of(exc: BaseException) -> int:
    """Return the number of an error; 0 if it has none."""
    code = exc.args[0] if exc.args else 0
    return code if isinstance(code, int) else 0


def answered(exc: BaseException) -> bool:
    """Whether the server said so, and the connection goes on. Numbers from 2000 to 2999 are the drivers' own."""
    code = code_of(exc)
    return code > 0 and not 2000 <= code < 3000 and code not in _LOST


def locked(exc: DurableStreamUnavailableError) -> bool:
    """Whether it was for somebody else's lock that a transaction ended; nothing was stored."""
    return not exc.maybe_stored and exc.__cause__ is not None and code_of(exc.__cause__) == LOCK_WAIT


def explain(exc: BaseException, what: object) -> DurableStreamUnavailableError:
    """Return our error for one of a driver's.

    Args:
        what: Names the store.
    """
    code = code_of(exc)
    said = " ".join(str(part) for part in exc.args[1:]) or str(exc)
    if code in _UNUSABLE:
        return StoreUnusableError(f"{what} {_UNUSABLE[code]} [{code}: {said}]")
    if code in _TRANSIENT:
        return DurableStreamUnavailableError(f"{what} {_TRANSIENT[code]} [{code}: {said}]")
    if isinstance(exc, TimeoutError) or "timed out" in said:
        return DurableStreamUnavailableError(f"{what} did not answer in time [{said}]")
    return DurableStreamUnavailableError(f"{what} could not be used [{code}: {said}]")
