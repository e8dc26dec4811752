"""Every statement that runs more than once, by what it does. Schema: ``migrations/``."""

TOPIC = """
SELECT id, incarnation, horizon_position, horizon_tag, last_position, last_tag,
       bytes, largest, first_at, sealed, seal_error
FROM topics WHERE name = ?
"""

TAIL = "SELECT id, incarnation, last_position, largest, first_at, sealed FROM topics WHERE name = ?"

GRAVE = "SELECT incarnation FROM tombstones WHERE name = ?"

TAG_AT = "SELECT tag FROM records WHERE topic_id = ? AND position = ?"

RECORDS_AFTER = """
SELECT position, tag, payload FROM records WHERE topic_id = ? AND position > ? ORDER BY position LIMIT ?
"""

CREATE_TOPIC = "INSERT INTO topics (name, incarnation, touched_at) VALUES (?, ?, ?)"

GROW_TOPIC = """
UPDATE topics SET last_position = ?, last_tag = ?, bytes = bytes + ?, largest = ?, touched_at = ? WHERE id = ?
"""

# Apart from GROW_TOPIC, because naming first_at rewrites its index entry on every append.
FIRST_STAMP = "UPDATE topics SET first_at = ? WHERE id = ?"

ADD_RECORD = "INSERT INTO records (topic_id, position, tag, at, payload) VALUES (?, ?, ?, ?, ?)"

SEAL = "UPDATE topics SET sealed = 1, seal_error = ? WHERE id = ? AND sealed = 0"

OLDEST = """
SELECT position, tag, at, length(payload) FROM records
WHERE topic_id = ? AND position > ? ORDER BY position LIMIT ?
"""

STAMP_AT = "SELECT at FROM records WHERE topic_id = ? AND position = ?"

DROP_RECORDS = "DELETE FROM records WHERE topic_id = ? AND position <= ?"

RAISE_HORIZON = """
UPDATE topics SET horizon_position = ?, horizon_tag = ?, bytes = bytes - ?, first_at = ? WHERE id = ?
"""

LIST_TOPICS = """
SELECT name, last_position - horizon_position, bytes, touched_at, last_position, sealed, seal_error
FROM topics WHERE name > ? AND name >= ? AND (? IS NULL OR name < ?) ORDER BY name LIMIT ?
"""

BURY = "INSERT OR REPLACE INTO tombstones (name, incarnation, deleted_at) VALUES (?, ?, ?)"

DROP_TOPIC = "DELETE FROM topics WHERE id = ?"

LEAVE_REMAINS = "INSERT INTO remains (topic_id) VALUES (?)"

NEXT_REMAINS = "SELECT topic_id FROM remains WHERE topic_id > ? ORDER BY topic_id LIMIT 1"

RECLAIM = """
DELETE FROM records WHERE rowid IN (SELECT rowid FROM records WHERE topic_id = ? ORDER BY position LIMIT ?)
"""

DROP_REMAINS = "DELETE FROM remains WHERE topic_id = ?"

# Sweeping: candidates in the order of an index, strictly after the last one that was looked at.
AGED = """
SELECT first_at, id, name, last_position - horizon_position, bytes FROM topics
WHERE first_at IS NOT NULL AND first_at < ? AND (first_at, id) > (?, ?) ORDER BY first_at, id LIMIT ?
"""

SLICE_END = "SELECT max(id) FROM (SELECT id FROM topics WHERE id > ? ORDER BY id LIMIT ?)"

OVERFULL = """
SELECT id, id, name, last_position - horizon_position, bytes FROM topics
WHERE id > ? AND id <= ? AND (last_position - horizon_position > ? OR bytes > ? OR id = ?) ORDER BY id
"""

IDLE = """
SELECT touched_at, id, name, 0, 0 FROM topics
WHERE last_position = horizon_position AND sealed = 0
  AND touched_at < ? AND (touched_at, id) > (?, ?) ORDER BY touched_at, id LIMIT ?
"""

STILL_IDLE = """
SELECT 1 FROM topics WHERE id = ? AND last_position = horizon_position AND sealed = 0 AND touched_at < ?
"""

EXPIRE_TOMBSTONES = """
DELETE FROM tombstones WHERE name IN (SELECT name FROM tombstones WHERE deleted_at < ? ORDER BY deleted_at LIMIT ?)
"""
