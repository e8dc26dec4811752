"""The names of the tables, and every statement that runs more than once.

``{topics}`` and the like are filled in once per store; what is left for each call is ``%``-formatted bytes.
"""

from dataclasses import dataclass, fields, replace

from tailrace.backends.sql.words import EXTRA_TABLES

NOW = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"
"""Microseconds since the epoch by the server's clock, whatever time zone a session has: no hour comes twice."""

_ROW = (
    "id, incarnation, horizon_position, horizon_tag, last_position, last_tag, size, largest, first_at, sealed, "
    "seal_error, name"
)


@dataclass(frozen=True, slots=True)
class Statements:
    """As templates, or filled in by ``for_tables``. The order of columns in ``lock`` is that of ``TopicRow``."""

    # By that index and no other way: a scan would lock, or wait for, rows of topics that are none of its business.
    lock: bytes = (
        f"SELECT {_ROW} FROM {{topics}} FORCE INDEX (by_name) WHERE name IN (%b) ORDER BY name FOR UPDATE".encode()
    )

    # By its id: at the isolation of an application, a look by name would lock the space between names as well, in which
    # others want to begin topics.
    lock_one: bytes = f"SELECT {_ROW} FROM {{topics}} FORCE INDEX (PRIMARY) WHERE id = %d FOR UPDATE".encode()

    exist: bytes = b"SELECT name FROM {topics} WHERE name IN (%b)"

    create: bytes = f"""INSERT INTO {{topics}} (name, incarnation, last_position, last_tag, size, largest, first_at,
sealed, seal_error, last_at, changed_at)
VALUES (%b, %d, %d, %d, %d, %d, IF(%d = 0, NULL, {NOW}), %d, %b, {NOW}, {NOW})""".encode()

    grow: bytes = f"""UPDATE {{topics}} SET last_position = %d, last_tag = %d, size = size + %d, largest = %d,
last_at = {NOW}, changed_at = last_at%b WHERE id = %d""".encode()

    first: bytes = b", first_at = last_at, idle_at = NULL"

    add: bytes = b"INSERT INTO {records} (topic_id, position, tag, at, size, payload) VALUES "

    added: bytes = f"(%b, %d, %d, {NOW}, %d, %b)".encode()

    # Without records.
    begin: bytes = f"""INSERT INTO {{topics}} (name, incarnation, last_at, idle_at, changed_at)
VALUES (%b, %d, {NOW}, {NOW}, {NOW})""".encode()

    life: bytes = b"SELECT id, incarnation, DATABASE() FROM {topics} WHERE name = %b"

    seal: bytes = f"""UPDATE {{topics}} SET sealed = 1, seal_error = %b, idle_at = NULL, changed_at = {NOW}
WHERE id = %d AND sealed = 0""".encode()

    oldest: bytes = b"""SELECT position, tag, at, size FROM {records}
WHERE topic_id = %d AND position > %d ORDER BY position LIMIT %d"""

    stamp: bytes = b"SELECT at FROM {records} WHERE topic_id = %d AND position = %d"

    # From a position on, so that what has been removed, and not been purged, is not walked over again and again.
    drop_records: bytes = b"DELETE FROM {records} WHERE topic_id = %d AND position > %d AND position <= %d"

    raise_horizon: bytes = f"""UPDATE {{topics}} SET horizon_position = %d, horizon_tag = %d, size = size - %d,
first_at = %b, idle_at = IF(sealed = 0 AND horizon_position = last_position, last_at, NULL), changed_at = {NOW}
WHERE id = %d""".encode()

    bury: bytes = f"REPLACE INTO {{graves}} (name, incarnation, deleted_at) VALUES (%b, %d, {NOW})".encode()

    drop_topic: bytes = b"DELETE FROM {topics} WHERE id = %d"

    leave_remains: bytes = b"INSERT INTO {remains} (topic_id) VALUES (%d)"

    next_remains: bytes = b"SELECT topic_id FROM {remains} WHERE topic_id > %d ORDER BY topic_id LIMIT 1"

    oldest_places: bytes = b"""SELECT COUNT(*), MAX(position) FROM (SELECT position FROM {records}
WHERE topic_id = %d AND position > %d ORDER BY position LIMIT %d) oldest"""

    drop_remains: bytes = b"DELETE FROM {remains} WHERE topic_id = %d"

    # A head is one text, so that rows of records need no columns for it. What may be missing comes last.
    head: bytes = f"""(SELECT %d AS request, 0 AS position, CAST(0 AS UNSIGNED) AS tag, CONCAT_WS(',', {NOW},
IFNULL((SELECT incarnation FROM {{graves}} WHERE name = %b), 0),
(SELECT CONCAT_WS(',', IFNULL((SELECT tag FROM {{records}} WHERE topic_id = t.id AND position = %d), -1),
 t.incarnation, t.horizon_position, t.horizon_tag, t.last_position, t.last_tag, t.largest, t.sealed,
 HEX(t.seal_error)) FROM {{topics}} t WHERE t.name = %b)) AS payload)""".encode()

    # Positions are dense. So many at most as fit however large they are, but one in any case.
    after: bytes = b"""(SELECT %d, r.position, r.tag, r.payload FROM {topics} t JOIN {records} r ON r.topic_id = t.id
WHERE t.name = %b%b AND r.position > %d AND r.position <= %d + GREATEST(1, LEAST(%d, %d DIV GREATEST(t.largest, 1)))
ORDER BY r.position LIMIT %d)"""

    sizes: bytes = b"""SELECT r.size FROM {topics} t JOIN {records} r ON r.topic_id = t.id
WHERE t.name = %b AND t.incarnation = %d AND r.position > %d ORDER BY r.position LIMIT %d"""

    upto: bytes = b"""(SELECT %d, r.position, r.tag, r.payload FROM {topics} t JOIN {records} r ON r.topic_id = t.id
WHERE t.name = %b AND t.incarnation = %d AND r.position > %d ORDER BY r.position LIMIT %d)"""

    topics: bytes = b"""SELECT name, last_position - horizon_position, size, last_at, last_position, sealed, seal_error
FROM {topics} WHERE name > %b AND name >= %b%b ORDER BY name LIMIT %d"""

    # Candidates of a sweep in the order of an index, strictly after the last one that was looked at.
    aged: bytes = b"""SELECT first_at, id, name, last_position - horizon_position, size FROM {topics}
WHERE first_at < %d AND (first_at > %d OR (first_at = %d AND id > %d)) ORDER BY first_at, id LIMIT %d"""

    slice_end: bytes = b"SELECT MAX(id) FROM (SELECT id FROM {topics} WHERE id > %d ORDER BY id LIMIT %d) slice"

    overfull: bytes = b"""SELECT id, id, name, last_position - horizon_position, size FROM {topics} WHERE id > %d
AND id <= %d AND (last_position - horizon_position > %d OR size > %d OR id = %d) ORDER BY id"""

    idle: bytes = b"""SELECT idle_at, id, name, 0, 0 FROM {topics} WHERE idle_at < %d
AND (idle_at > %d OR (idle_at = %d AND id > %d)) ORDER BY idle_at, id LIMIT %d"""

    still_idle: bytes = b"SELECT 1 FROM {topics} WHERE id = %d AND idle_at < %d"

    oldest_graves: bytes = b"""SELECT deleted_at, name FROM {graves} WHERE deleted_at >= %d AND deleted_at < %d
ORDER BY deleted_at LIMIT %d"""

    expire: bytes = b"DELETE FROM {graves} WHERE name IN (%b) AND deleted_at < %d"

    now: bytes = f"SELECT {NOW}".encode()

    # Watching: what changed after a stamp, by an index; and where some topics stand, by their names.
    changed: bytes = f"""SELECT NULL, {NOW}, 0 UNION ALL (SELECT name, changed_at, 0 FROM {{topics}}
WHERE changed_at > %d ORDER BY changed_at LIMIT %d)
UNION ALL (SELECT name, deleted_at, 1 FROM {{graves}} WHERE deleted_at > %d ORDER BY deleted_at LIMIT %d)""".encode()

    heads: bytes = b"""SELECT name, incarnation, last_position, last_tag, horizon_position, sealed
FROM {topics} WHERE name IN (%b)"""


TABLES = ("topics", "records", "graves", "remains", "version", *EXTRA_TABLES)


def for_tables(prefix: str) -> Statements:
    """Return the statements for tables whose names begin like this."""
    template = Statements()
    return Statements(**{one.name: filled(getattr(template, one.name), prefix) for one in fields(template)})


def for_streams(prefix: str) -> Statements:
    """Return the statements of ``for_tables`` for who watches streams instead of topics."""
    template = Statements()
    names = ("changed", "heads")
    watched = {name: getattr(template, name).replace(b"{topics}", b"{workflow_streams}") for name in names}
    return replace(for_tables(prefix), **{name: filled(text, prefix) for name, text in watched.items()})


def filled(statement: bytes, prefix: str) -> bytes:
    """Put the names of tables into a statement."""
    for table in TABLES:
        statement = statement.replace(b"{%b}" % table.encode(), f"`{prefix}{table}`".encode())
    return statement
