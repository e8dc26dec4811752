"""The statements that move the beginnings of topics, end their lives, and reclaim what nobody can read any more; and by
which a sweep finds what it has to do. As templates: ``statements.py``.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Removals:
    """Those of them that run more than once."""

    # Cutting a topic: in one transaction of few statements, that only moves the horizon. What is before it waits to be
    # reclaimed, and holds nobody up.
    hold: bytes = b"""
SELECT id, incarnation, horizon_position, horizon_tag, last_position, last_tag, size, largest,
    (extract(epoch FROM first_at) * 1000000)::bigint, sealed, seal_error
FROM {topics} WHERE name = %(name)b::bytea {patience} FOR NO KEY UPDATE {skip}
"""

    oldest: bytes = b"""
SELECT position, tag, (extract(epoch FROM at) * 1000000)::bigint, octet_length(payload)::bigint FROM {records}
WHERE topic_id = %(id)b::bigint AND position > %(position)b::bigint ORDER BY position LIMIT %(most)b::bigint
"""

    raise_horizon: bytes = b"""
WITH first AS (
    SELECT at FROM {records} WHERE topic_id = %(id)b::bigint AND position = %(position)b::bigint + 1
), waits AS (
    INSERT INTO {remains} AS r (topic_id, through) VALUES (%(id)b::bigint, %(position)b::bigint)
    ON CONFLICT (topic_id) DO UPDATE SET through = greatest(r.through, excluded.through)
    RETURNING xmax = 0 AS fresh
)
UPDATE {topics} t SET horizon_position = %(position)b::bigint, horizon_tag = %(tag)b::bigint,
    size = t.size - %(size)b::bigint,
    first_at = (SELECT at FROM first),
    idle_since = CASE WHEN NOT t.sealed AND t.last_position = %(position)b::bigint THEN t.last_at END
WHERE t.id = %(id)b::bigint
RETURNING (SELECT fresh FROM waits)
"""

    bury: bytes = b"""
WITH gone AS (
    DELETE FROM {topics} WHERE id = %(id)b::bigint RETURNING id, name, incarnation, horizon_position, last_position
), grave AS (
    INSERT INTO {graves} (name, incarnation, deleted_at) SELECT name, incarnation, clock_timestamp() FROM gone
    ON CONFLICT (name) DO UPDATE SET incarnation = excluded.incarnation, deleted_at = excluded.deleted_at
)
INSERT INTO {remains} AS r (topic_id, through)
SELECT id, last_position FROM gone WHERE last_position > horizon_position
ON CONFLICT (topic_id) DO UPDATE SET through = greatest(r.through, excluded.through)
"""

    # From a position on, so that what has been removed, and not been vacuumed, is not walked over again and again.
    # Nobody waits for the disk: what a crash brings back, the next sweep removes, for which ``remains`` comes back too.
    # Nor for long for whoever has rows locked that nobody but him can want.
    reclaim: bytes = b"""
WITH first AS MATERIALIZED (
    SELECT position FROM {records}
    WHERE topic_id = %(id)b::bigint AND position > %(after)b::bigint AND position <= %(through)b::bigint
        AND (SELECT set_config('synchronous_commit', 'off', true)
            || set_config('lock_timeout', %(patience)b::text, true)) IS NOT NULL
    ORDER BY position LIMIT %(most)b::bigint
), gone AS (
    DELETE FROM {records} r USING (SELECT min(position) AS low, max(position) AS high FROM first) AS span
    WHERE r.topic_id = %(id)b::bigint AND r.position BETWEEN span.low AND span.high
)
SELECT count(*), coalesce(max(position), %(after)b::bigint) FROM first
"""

    # Not if the horizon moved on meanwhile.
    drop_remains: bytes = b"""
DELETE FROM {remains} WHERE topic_id = %(id)b::bigint AND through = %(through)b::bigint
    AND (SELECT set_config('synchronous_commit', 'off', true)) IS NOT NULL
"""

    next_remains: bytes = b"""
SELECT topic_id, through FROM {remains} WHERE topic_id >= %(id)b::bigint ORDER BY topic_id LIMIT 1
"""

    # What a sweep looks for: in the order of an index, strictly after the last one that was looked at.
    aged: bytes = b"""
SELECT (extract(epoch FROM first_at) * 1000000)::bigint, id, name, last_position - horizon_position, size FROM {topics}
WHERE first_at IS NOT NULL AND first_at < to_timestamp(%(before)b::float8)
    AND (first_at, id) > (to_timestamp(%(after)b::float8), %(id)b::bigint)
ORDER BY first_at, id LIMIT %(most)b::bigint
"""

    overfull: bytes = b"""
WITH slice AS MATERIALIZED (
    SELECT id, name, last_position - horizon_position AS records, size FROM {topics}
    WHERE id > %(id)b::bigint ORDER BY id LIMIT %(slice)b::bigint
)
SELECT id, id, name, records, size FROM slice
WHERE records > %(records)b::bigint OR size > %(size)b::bigint OR id = (SELECT max(id) FROM slice) ORDER BY id
"""

    idle: bytes = b"""
SELECT (extract(epoch FROM idle_since) * 1000000)::bigint, id, name, 0::bigint, 0::bigint FROM {topics}
WHERE idle_since IS NOT NULL AND idle_since < to_timestamp(%(before)b::float8)
    AND (idle_since, id) > (to_timestamp(%(after)b::float8), %(id)b::bigint)
ORDER BY idle_since, id LIMIT %(most)b::bigint
"""

    still_idle: bytes = b"""
SELECT 1 FROM {topics} WHERE id = %(id)b::bigint AND idle_since < to_timestamp(%(before)b::float8)
"""

    expire: bytes = b"""
WITH gone AS (
DELETE FROM {graves} WHERE name = ANY (ARRAY(
    SELECT name FROM {graves} WHERE deleted_at < to_timestamp(%(before)b::float8) ORDER BY deleted_at
    LIMIT %(most)b::bigint FOR UPDATE SKIP LOCKED
)) RETURNING 1
) SELECT count(*) FROM gone
"""
