"""Every statement that runs more than once, by what it does; what removes something is in ``removals.py``.
Schema: ``migrations/``.

All of them find their rows by an index, and none reads more rows than it returns or changes. Stamps go out and come in
as microseconds since the epoch. Where a clock was set back, ``greatest`` keeps the stamps of a topic in order.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields

from tailrace.backends.postgres.removals import Removals
from tailrace.backends.postgres.tables import Tables, literal


@dataclass(frozen=True, slots=True)
class Statements(Removals):
    """As templates, or filled in by ``for_tables``."""

    # One topic: lock it, make it longer, add the records. Nothing is returned if there is no such topic, or if it was
    # locked and is not to be waited for.
    grow: bytes = b"""
WITH held AS MATERIALIZED (
    SELECT t.id, t.sealed FROM {topics} t WHERE t.name = %(name)b::bytea {patience} FOR NO KEY UPDATE {skip}
), grown AS (
    UPDATE {topics} t SET
        last_position = t.last_position + %(count)b::bigint, last_tag = %(tag)b::bigint,
        size = t.size + %(size)b::bigint, largest = greatest(t.largest, %(largest)b::bigint),
        last_at = greatest(t.last_at, clock_timestamp()), idle_since = NULL,
        first_at = coalesce(t.first_at, greatest(t.last_at, clock_timestamp()))
    FROM held WHERE t.id = held.id AND NOT held.sealed
    RETURNING t.id, t.incarnation, t.last_position, t.last_position - t.horizon_position AS records, t.size, t.last_at
), added AS (
    INSERT INTO {records} (topic_id, position, at, tag, payload)
    SELECT grown.id, grown.last_position - %(count)b::bigint + given.n, grown.last_at, %(tag)b::bigint, given.payload
    FROM grown, unnest(%(payloads)b::bytea[]) WITH ORDINALITY AS given (payload, n)
)
SELECT 1::bigint, grown.incarnation, grown.last_position, grown.records, grown.size FROM held LEFT JOIN grown ON true
"""

    # The same for many. ``starts`` counts the payloads of the topics before each. Sorted before they are locked.
    grow_all: bytes = b"""
WITH wanted AS MATERIALIZED (
    SELECT * FROM unnest(
        %(names)b::bytea[], %(counts)b::bigint[], %(sizes)b::bigint[], %(largests)b::bigint[], %(starts)b::bigint[]
    ) WITH ORDINALITY AS w (name, count, size, largest, start, n)
), held AS MATERIALIZED (
    SELECT t.id, t.sealed, w.n, w.count, w.size, w.largest, w.start FROM wanted w JOIN {topics} t ON t.name = w.name
    WHERE true {patience} ORDER BY t.name FOR NO KEY UPDATE OF t {skip}
), grown AS (
    UPDATE {topics} t SET
        last_position = t.last_position + held.count, last_tag = %(tag)b::bigint,
        size = t.size + held.size, largest = greatest(t.largest, held.largest),
        last_at = greatest(t.last_at, clock_timestamp()), idle_since = NULL,
        first_at = coalesce(t.first_at, greatest(t.last_at, clock_timestamp()))
    FROM held WHERE t.id = held.id AND NOT held.sealed
    RETURNING t.id, held.n, held.count, held.start, t.incarnation, t.last_position,
        t.last_position - t.horizon_position AS records, t.size, t.last_at
), added AS (
    INSERT INTO {records} (topic_id, position, at, tag, payload)
    SELECT grown.id, grown.last_position - grown.count + given.n - grown.start, grown.last_at, %(tag)b::bigint,
        given.payload
    FROM unnest(%(payloads)b::bytea[], %(owners)b::bigint[]) WITH ORDINALITY AS given (payload, owner, n)
    JOIN grown ON grown.n = given.owner
)
SELECT held.n, grown.incarnation, grown.last_position, grown.records, grown.size
FROM held LEFT JOIN grown ON grown.n = held.n
"""

    # Topics that begin with these records. Nothing is returned for one that exists by now, or that somebody else is
    # about to begin: his row can not be seen yet, and to insert another would wait for him. So who begins one takes a
    # lock of its name first, tried or waited for. Two names that share a lock do no harm.
    bear: bytes = b"""
WITH wanted AS MATERIALIZED (
    SELECT * FROM unnest(
        %(names)b::bytea[], %(counts)b::bigint[], %(sizes)b::bigint[], %(largests)b::bigint[], %(starts)b::bigint[],
        %(incarnations)b::bigint[]
    ) WITH ORDINALITY AS w (name, count, size, largest, start, incarnation, n)
), missing AS MATERIALIZED (
    SELECT w.* FROM wanted w WHERE NOT EXISTS (SELECT FROM {topics} t WHERE t.name = w.name) {patience} ORDER BY w.name
), mine AS MATERIALIZED (
    SELECT m.* FROM missing m WHERE {mine}
), born AS (
    INSERT INTO {topics} (name, incarnation, last_position, last_tag, size, largest, last_at, first_at)
    SELECT name, incarnation, count, %(tag)b::bigint, size, largest, now.at, now.at
    FROM mine, (SELECT clock_timestamp() AS at) AS now
    ON CONFLICT (name) DO NOTHING
    RETURNING id, name, incarnation, last_position, size, last_at
), added AS (
    INSERT INTO {records} (topic_id, position, at, tag, payload)
    SELECT born.id, given.n - mine.start, born.last_at, %(tag)b::bigint, given.payload
    FROM unnest(%(payloads)b::bytea[], %(owners)b::bigint[]) WITH ORDINALITY AS given (payload, owner, n)
    JOIN mine ON mine.n = given.owner JOIN born ON born.name = mine.name
)
SELECT mine.n, born.incarnation, born.last_position, born.last_position, born.size
FROM mine JOIN born ON born.name = mine.name
"""

    seal: bytes = b"""
WITH born AS (
    INSERT INTO {topics} AS t (name, incarnation, last_at, sealed, seal_error)
    SELECT %(name)b::bytea, %(incarnation)b::bigint, clock_timestamp(), true, %(error)b::bytea WHERE true {patience}
    ON CONFLICT (name) DO UPDATE SET sealed = true, seal_error = excluded.seal_error, idle_since = NULL
    WHERE NOT t.sealed
    RETURNING t.id
)
SELECT count(*) FROM born
"""

    # Each request is answered by a head, told by its position 0, and by the records of its page. A head is one value
    # (see ``pages.py``), so that the rows of records need no columns for it. Payloads are added up only
    # where so many of the topic's largest would not fit: that is half of the work of a full page.
    read: bytes = b"""
SELECT answer.position, answer.tag, answer.payload
FROM unnest(%(names)b::bytea[], %(places)b::bigint[], %(counts)b::bigint[], %(rooms)b::bigint[])
    WITH ORDINALITY AS r (name, place, count, room, n)
LEFT JOIN {topics} t ON t.name = r.name
CROSS JOIN LATERAL (
    SELECT 0::bigint AS position, r.n AS tag,
        int8send((extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
        || int8send(coalesce((SELECT g.incarnation FROM {graves} g WHERE g.name = r.name), 0))
        || coalesce(
            int8send(coalesce((SELECT x.tag FROM {records} x WHERE x.topic_id = t.id AND x.position = r.place), -1))
            || int8send(t.id) || int8send(t.incarnation) || int8send(t.horizon_position) || int8send(t.horizon_tag)
            || int8send(t.last_position) || int8send(t.last_tag) || int8send(t.size) || int8send(t.largest)
            || CASE WHEN t.sealed THEN '\\x01'::bytea || coalesce('\\x01'::bytea || t.seal_error, '')
               ELSE '' END,
            ''
        ) AS payload
    UNION ALL (
        SELECT x.position, x.tag, x.payload FROM {records} x
        WHERE x.topic_id = t.id AND x.position > r.place AND r.place >= t.horizon_position
        ORDER BY x.position
        LIMIT CASE WHEN r.count <= r.room / greatest(t.largest, 1) THEN r.count ELSE (
            SELECT greatest(1, count(*) FILTER (WHERE page.size <= r.room)) FROM (
                SELECT sum(octet_length(y.payload)) OVER (ORDER BY y.position ROWS UNBOUNDED PRECEDING) AS size
                FROM (
                    SELECT z.position, z.payload FROM {records} z
                    WHERE z.topic_id = t.id AND z.position > r.place ORDER BY z.position LIMIT r.count
                ) AS y
            ) AS page
        ) END
    )
) AS answer
"""

    # The same for one topic, without a join that every record would have to go through.
    read_one: bytes = b"""
WITH topic AS MATERIALIZED (SELECT t.* FROM {topics} t WHERE t.name = %(name)b::bytea)
SELECT 0::bigint, 1::bigint,
    int8send((extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
    || int8send(coalesce((SELECT g.incarnation FROM {graves} g WHERE g.name = %(name)b::bytea), 0))
    || coalesce((
        SELECT
            int8send(coalesce((
                SELECT x.tag FROM {records} x WHERE x.topic_id = t.id AND x.position = %(place)b::bigint
            ), -1))
            || int8send(t.id) || int8send(t.incarnation) || int8send(t.horizon_position) || int8send(t.horizon_tag)
            || int8send(t.last_position) || int8send(t.last_tag) || int8send(t.size) || int8send(t.largest)
            || CASE WHEN t.sealed THEN '\\x01'::bytea || coalesce('\\x01'::bytea || t.seal_error, '') ELSE '' END
        FROM topic t
    ), '')
UNION ALL (
    SELECT x.position, x.tag, x.payload FROM {records} x
    WHERE x.topic_id = (SELECT id FROM topic) AND x.position > %(place)b::bigint
        AND %(place)b::bigint >= (SELECT horizon_position FROM topic)
    ORDER BY x.position
    LIMIT CASE WHEN %(count)b::bigint <= %(room)b::bigint / greatest((SELECT largest FROM topic), 1)
    THEN %(count)b::bigint ELSE (
        SELECT greatest(1, count(*) FILTER (WHERE page.size <= %(room)b::bigint)) FROM (
            SELECT sum(octet_length(y.payload)) OVER (ORDER BY y.position ROWS UNBOUNDED PRECEDING) AS size
            FROM (
                SELECT z.position, z.payload FROM {records} z
                WHERE z.topic_id = (SELECT id FROM topic) AND z.position > %(place)b::bigint
                ORDER BY z.position LIMIT %(count)b::bigint
            ) AS y
        ) AS page
    ) END
)
"""

    topics_after: bytes = b"""
SELECT name, last_position - horizon_position, size, (extract(epoch FROM last_at) * 1000000)::bigint, last_position,
    sealed, seal_error
FROM {topics}
WHERE name > %(after)b::bytea AND name >= %(first)b::bytea AND name < %(end)b::bytea
ORDER BY name LIMIT %(most)b::bigint
"""

    id_of: bytes = b"SELECT id FROM {topics} WHERE name = %(name)b::bytea"

    now: bytes = b"SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"


_PROMPT = {"skip": "SKIP LOCKED", "patience": "", "mine": "pg_try_advisory_xact_lock({key})"}
_PATIENT = {
    "skip": "",
    # Said inside the statement, because a pooler's connection is somebody else's a moment later. It comes to pass
    # before the first row is looked at.
    "patience": "AND (SELECT set_config('lock_timeout', %(patience)b::text, true)) IS NOT NULL",
    "mine": "pg_advisory_xact_lock({key}) IS NOT NULL",
}
_CALLERS = {**_PATIENT, "patience": ""}
_KEY = "hashtextextended(encode(m.name, 'hex'), hashtext({tables}))"


def for_tables(tables: Tables, *, patient: bool) -> Statements:
    """Return the statements for one store's tables.

    Args:
        patient: Whether they wait for what somebody else has locked, for so many milliseconds as the value
            ``patience`` says; the others pass over it.
    """
    return _filled(tables, _PATIENT if patient else _PROMPT)


def for_callers(tables: Tables) -> Statements:
    """Return statements that wait, for as long as the transaction that they are part of is set to."""
    return _filled(tables, _CALLERS)


def _filled(tables: Tables, words: Mapping[str, str]) -> Statements:
    # A percent sign in a name is one to the driver too.
    key = _KEY.format(tables=literal(f"{tables.schema}.{tables.prefix}")).replace("%", "%%")
    words = {name: text.replace("{key}", key) for name, text in words.items()}
    template = Statements()
    return Statements(**{one.name: tables.query(getattr(template, one.name), words) for one in fields(template)})
