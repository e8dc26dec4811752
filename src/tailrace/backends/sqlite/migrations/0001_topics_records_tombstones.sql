-- The life of each topic, its records, what is remembered of deleted ones, and what is still to be reclaimed.

CREATE TABLE topics (
    id INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used again, so that records left by a deleted topic can wait
    name BLOB NOT NULL UNIQUE,             -- UTF-8; a BLOB compares byte for byte
    incarnation INTEGER NOT NULL,
    horizon_position INTEGER NOT NULL DEFAULT 0,
    horizon_tag INTEGER NOT NULL DEFAULT 0,
    last_position INTEGER NOT NULL DEFAULT 0,
    last_tag INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0,      -- payload bytes retained; records retained = last - horizon
    largest INTEGER NOT NULL DEFAULT 0,    -- payload bytes of the largest record ever: sizes a fetch
    first_at INTEGER,                      -- stamp of the earliest retained record, NULL when there is none
    touched_at INTEGER NOT NULL,           -- microseconds since the epoch, as all stamps
    sealed INTEGER NOT NULL DEFAULT 0,
    seal_error BLOB
);

-- What a sweep looks for. An append changes neither, except the first one after a topic was empty.
CREATE INDEX topics_by_age ON topics (first_at) WHERE first_at IS NOT NULL;
CREATE INDEX topics_idle ON topics (touched_at) WHERE last_position = horizon_position AND sealed = 0;

CREATE TABLE records (
    topic_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    tag INTEGER NOT NULL,
    at INTEGER NOT NULL,
    payload BLOB NOT NULL,
    PRIMARY KEY (topic_id, position)
);

CREATE TABLE tombstones (
    name BLOB PRIMARY KEY,
    incarnation INTEGER NOT NULL,
    deleted_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX tombstones_by_age ON tombstones (deleted_at);

CREATE TABLE remains (topic_id INTEGER PRIMARY KEY);  -- deleted topics whose records are not reclaimed yet
