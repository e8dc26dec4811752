"""How the database is set up, and what of it would lose records, refuse work, or make it slow."""

from collections.abc import Iterator, Mapping

from tailrace.backends.postgres.session import Session
from tailrace.backends.postgres.tables import TABLES, Tables
from tailrace.errors import DurableStreamUnavailableError
from tailrace.spi import Findings

_SHOWN = (
    "server_version",
    "server_encoding",
    "synchronous_commit",
    "synchronous_standby_names",
    "fsync",
    "full_page_writes",
    "wal_level",
    "autovacuum",
    "max_connections",
    "statement_timeout",
    "lock_timeout",
    "idle_in_transaction_session_timeout",
    "default_transaction_read_only",
    "default_transaction_isolation",
)
_SETTINGS = b"SELECT name, setting FROM pg_settings WHERE name = ANY (%(names)b::text[])"
_STATE = b"""
SELECT pg_is_in_recovery(), (SELECT count(*) FROM pg_stat_replication),
    (SELECT extract(epoch FROM max(clock_timestamp() - xact_start))::float8 FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()
            AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)),
    (SELECT count(*) FROM pg_prepared_xacts)
"""
# With its partitions, if it has some.
_SIZE = b"""
SELECT sum(pg_total_relation_size(relid))::bigint FROM pg_partition_tree(%(table)b::text::regclass)
"""

OLD_TRANSACTION = 600.0
"""Seconds after which a transaction that is still open is worth a warning: nothing that it could see is cleaned up."""

_LOST = {
    "off": "what was acknowledged in the last moments before a crash of the server may be lost: set it to on",
    "local": "a standby may not have what was acknowledged: set it to on",
    "remote_write": "a standby may lose in a crash of its machine what was acknowledged: set it to on",
}


def durability(session: Session, deadline: float) -> str:
    """Return one sentence on what an acknowledgement means here."""
    found = _settings(session, deadline)
    commit, standbys = found.get("synchronous_commit", ""), found.get("synchronous_standby_names", "")
    if found.get("fsync") == "off":
        return "fsync is off: an acknowledged record survives the death of any process, not that of the machine."
    if commit == "off":
        return "synchronous_commit is off: a crash of the server may take back records that were acknowledged."
    if standbys and commit in ("on", "remote_apply", "remote_write"):
        return f"An acknowledged record is in the write-ahead log, synced, and at the standbys ({commit})."
    return "An acknowledged record is in the write-ahead log and synced: it survives a power cut of the server."


def examine(session: Session, tables: Tables, deadline: float) -> Findings:
    """Look at the server, and at the tables.

    Raises:
        DurableStreamUnavailableError: It is away.
    """
    facts = dict(_settings(session, deadline))
    unread: list[str] = []
    sizes: dict[str, int] = {}
    ((standby, replicas, oldest, prepared),) = session.ask(_STATE, {}, deadline, "read")
    facts |= {"standby": "yes" if standby else "no", "standbys connected": str(replicas)}
    facts |= {"pooler in between": "yes" if session.pooled else "no"}
    if oldest is not None:
        facts["oldest transaction"] = f"{oldest:.0f} s"
    for table in TABLES:
        try:
            ((sizes[f"table {table}"],),) = session.ask(_SIZE, {"table": tables[table]}, deadline, "read")
        except DurableStreamUnavailableError as exc:
            unread.append(f"the size of {table}: {exc}")
    warnings = tuple(_warnings(facts, oldest or 0.0, prepared))
    return Findings(facts=facts, sizes=sizes, warnings=warnings, unread=tuple(unread))


def _settings(session: Session, deadline: float) -> Mapping[str, str]:
    found = dict(session.ask(_SETTINGS, {"names": list(_SHOWN)}, deadline, "read"))
    return {name: found[name] for name in _SHOWN if name in found}


def _warnings(facts: Mapping[str, str], oldest: float, prepared: int) -> Iterator[str]:
    if facts.get("fsync") == "off":
        yield "fsync is off: a crash of the machine may destroy the whole database: set it to on"
    if facts.get("full_page_writes") == "off":
        yield "full_page_writes is off: a crash of the machine may leave torn pages: set it to on"
    commit = facts.get("synchronous_commit", "")
    if commit == "off" or (commit in _LOST and facts.get("synchronous_standby_names")):
        yield f"synchronous_commit is {commit}: {_LOST[commit]}"
    if facts.get("autovacuum") == "off":
        yield "autovacuum is off: what retention removes never becomes free space: set it to on"
    if facts.get("idle_in_transaction_session_timeout") == "0":
        yield (
            "idle_in_transaction_session_timeout is 0: a forgotten transaction may hold a topic, "
            "and the clean-up of all tables, for ever: set it to some minutes"
        )
    if facts.get("default_transaction_read_only") == "on" or facts.get("standby") == "yes":
        yield "the server can only be read: appends are refused"
    if oldest > OLD_TRANSACTION:
        yield f"a transaction has been open for {oldest:.0f} s: nothing is cleaned up in any table until it ends"
    if prepared:
        yield f"{prepared} prepared transactions are open: they hold what they have locked until they are ended"
