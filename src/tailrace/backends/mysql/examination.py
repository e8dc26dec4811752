"""How the server is set up, and what of it would lose records, delay readers, or refuse work."""

from collections.abc import Iterator, Mapping

from tailrace import limits
from tailrace.backends.mysql.line import Line
from tailrace.backends.mysql.location import Location
from tailrace.spi import Findings

VARIABLES = (
    "binlog_format",
    "innodb_flush_log_at_trx_commit",
    "innodb_lock_wait_timeout",
    "innodb_doublewrite",
    "log_bin",
    "max_allowed_packet",
    "max_connections",
    "read_only",
    "rpl_semi_sync_master_enabled",
    "rpl_semi_sync_source_enabled",
    "sql_mode",
    "sync_binlog",
    "transaction_isolation",
    "tx_isolation",
    "version",
    "version_comment",
    "wait_timeout",
    "wsrep_on",
)
"""Shown as the server is set globally; our own sessions set what matters to them."""

OLDEST_MARIADB, OLDEST_MYSQL = (10, 6), (8, 0)


def examine(line: Line, location: Location, deadline: float) -> Findings:
    """Look at the server. Any user may."""
    names = ",".join(f"'{name}'" for name in VARIABLES).encode()
    rows = line.ask([b"SHOW GLOBAL VARIABLES WHERE Variable_name IN (%b)" % names], deadline)[-1]
    facts = {_text(name): _text(value) for name, value in rows}
    tables = (
        b"SELECT table_name, data_length + index_length FROM information_schema.tables WHERE table_schema = DATABASE()"
    )
    sizes = {_text(name): int(size or 0) for name, size in line.ask([tables], deadline)[-1]}
    ours = {name: size for name, size in sizes.items() if name.startswith(location.prefix)}
    return Findings(facts=facts, sizes=ours, warnings=tuple(warnings(facts, mariadb=line.mariadb)))


def warnings(facts: Mapping[str, str], *, mariadb: bool) -> Iterator[str]:
    """Say what to mind, one sentence each. What could not be read is not warned of. Pure."""
    version = tuple(int(part) for part in facts.get("version", "").split("-")[0].split(".")[:2] if part.isdecimal())
    if version and version < (OLDEST_MARIADB if mariadb else OLDEST_MYSQL):
        yield f"version {facts['version']} is too old: use MariaDB 10.6, MySQL 8.0, or newer"
    flushed = facts.get("innodb_flush_log_at_trx_commit", "1")
    if flushed != "1":
        lost = "a power cut" if flushed == "2" else "a crash of the server"
        yield f"innodb_flush_log_at_trx_commit is {flushed}: {lost} loses the last second: set it to 1"
    if facts.get("log_bin") == "ON" and facts.get("sync_binlog", "1") == "0":
        yield (
            "sync_binlog is 0: after a power cut the binary log, and with it every replica, may lack what was "
            "acknowledged: set it to 1"
        )
    if facts.get("log_bin") == "ON" and facts.get("binlog_format") == "STATEMENT":
        yield "binlog_format is STATEMENT: the server refuses every append: set it to ROW"
    if facts.get("innodb_doublewrite", "ON") in ("OFF", "0"):
        yield "innodb_doublewrite is OFF: a power cut in the middle of a write may damage tables: set it to ON"
    if facts.get("read_only", "OFF") not in ("OFF", "0"):
        yield "the server is read-only: it refuses appends: connect to the primary"
    largest = int(facts.get("max_allowed_packet", 0) or 0)
    if largest and largest < limits.MAX_PAYLOAD_BYTES + 2**16:
        yield (
            f"max_allowed_packet is {largest}: larger payloads are refused: set it to "
            f"{limits.MAX_PAYLOAD_BYTES + 2**16} or more, or max_payload to less"
        )
    idle = int(facts.get("wait_timeout", 0) or 0)
    if 0 < idle < 30:
        yield f"wait_timeout is {idle}: connections are opened again and again: set it to 60 or more"


def durability(facts: Mapping[str, str]) -> str:
    """Say what an acknowledgement means, in one sentence."""
    return {
        "1": "An acknowledged record is in InnoDB's log and flushed to disk: it survives a power cut of the server.",
        "2": "An acknowledged record survives the death of the server's process; a power cut may take the last second.",
        "0": "A crash of the server may take what was acknowledged in the last second.",
    }.get(facts.get("innodb_flush_log_at_trx_commit", ""), "As the server is set; it did not tell how.")


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
