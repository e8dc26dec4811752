"""The one place where the driver's and the server's errors become ours.

Which class decides what the engine does: a plain unavailable error is ridden out, a ``StoreUnusableError`` is told
at once. Each message is one sentence that says what to do, with the server's own words after it.
"""

import re

import psycopg

from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError

_NO_TABLES = "has no tables of Tailrace in this schema: run `tailrace migrate`, or connect once with create=True"

_UNUSABLE = {
    "42P01": _NO_TABLES,
    "3F000": _NO_TABLES,
    "42501": "does not allow this user what is needed",
    "53100": "has no space left on its disk: nothing was stored; free some and go on",
    "53400": "is configured with limits that are too low",
    "54000": "can not take that much at once",
    "28000": "does not let this user in: change the URL, or pg_hba.conf",
    "28P01": "does not accept this user and password",
    "3D000": "has no such database: create it, or change the URL",
    "42703": "has tables of another release in this schema: run `tailrace migrate`",
    "0A000": "can not do what is needed: PostgreSQL 12 or newer is needed",
}
_TRANSIENT = {
    "25P02": "does nothing more in this transaction, in which something failed before: roll it back",
    "25006": "can only be read: it is a standby, or default_transaction_read_only is on: connect to the primary",
    "40001": "could not put this in order with what others do at the same time",
    "40P01": "could not put this in order with what others do at the same time",
    "55P03": "has this topic locked by another transaction: nothing was done",
    "57014": "cut the statement: its statement_timeout is too short, or somebody cancelled it",
    "53200": "has no memory left",
    "53300": "has no connection left: raise max_connections, or put a pooler before it",
    "57P01": "is being shut down, or an administrator ended the connection",
    "57P02": "has crashed and is starting again",
    "57P03": "is starting, or being shut down",
    "57P05": "ended a connection that was idle",
}
_RIGHTS = {
    "read": "USAGE on the schema, and SELECT on version, topics, records and graves",
    "append": "what readers need, and INSERT and UPDATE on topics, INSERT on records",
    "migrate": "CREATE on the database, or let somebody who has it run what `tailrace migrate --sql` writes",
    "operate": "what appenders need, and DELETE on all tables, INSERT and UPDATE on graves and remains",
}
_WORKFLOW_RIGHTS = "see the least rights for workflow streams in the documentation"
# While connecting no code is told. In other languages than English these stay plain unavailable errors.
_WORDS = (
    (re.compile("password authentication failed|no password supplied"), "28P01"),
    (
        re.compile(r'no pg_hba\.conf entry|role ".*" (does not exist|is not permitted to log in)|permission denied'),
        "28000",
    ),
    (re.compile('database ".*" does not exist'), "3D000"),
    (re.compile("too many (clients|connections)|remaining connection slots|no more connections allowed"), "53300"),
    (re.compile("is starting up|is shutting down|in recovery mode"), "57P03"),
    (re.compile(r"TLS|SSL|certificate"), "TLS"),
)


def explain(exc: Exception, what: object, purpose: str = "") -> DurableStreamUnavailableError:
    """Return our error for one that the server answered with, or that the driver raised.

    Args:
        what: Names the server.
        purpose: What was to be done: ``read``, ``append``, ``operate`` or ``migrate``; names the rights that are needed
            for it.
    """
    said = " ".join(str(exc).split())
    code = code_of(exc)
    if code == "42501" and purpose in _RIGHTS:
        needed = _WORKFLOW_RIGHTS if "workflow_" in said else f"grant it {_RIGHTS[purpose]}"
        return StoreUnusableError(f"{what} {_UNUSABLE[code]}: {needed} [{said}]")
    if code in _UNUSABLE:
        return StoreUnusableError(f"{what} {_UNUSABLE[code]} [{said}]")
    if code in _TRANSIENT:
        return DurableStreamUnavailableError(f"{what} {_TRANSIENT[code]} [{said}]")
    if code == "TLS":
        return StoreUnusableError(f"{what} can not be spoken to with these TLS settings: see sslmode [{said}]")
    if isinstance(exc, TimeoutError):
        return DurableStreamUnavailableError(f"{what} did not answer in time")
    return DurableStreamUnavailableError(f"{what} could not be used [{said}]")


def code_of(exc: BaseException) -> str:
    """Return the SQLSTATE of an error; empty if there is none."""
    if not isinstance(exc, psycopg.Error):
        # Another driver's, of an application.
        code = getattr(exc, "pgcode", None) or getattr(exc, "sqlstate", None)
        return code if isinstance(code, str) else ""
    if exc.sqlstate is not None:
        return exc.sqlstate
    said = str(exc)
    return next((code for words, code in _WORDS if words.search(said)), "")


def may_be_repeated(exc: BaseException) -> bool:
    """Whether a statement certainly had no effect, and may have one if it is just sent again."""
    return code_of(exc) in ("40001", "40P01")


def ends(exc: BaseException) -> bool:
    """Whether the connection ended with this error, so that nobody knows what became of the statement."""
    diag = getattr(exc, "diag", None)
    severity = None if diag is None else diag.severity_nonlocalized
    return not isinstance(exc, psycopg.Error) or exc.sqlstate is None or severity in ("FATAL", "PANIC")
