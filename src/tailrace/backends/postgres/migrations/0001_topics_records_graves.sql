-- The life of each topic, its records, what is remembered of deleted ones, and what is still to be reclaimed.

CREATE TABLE {topics} (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,  -- never used again: records of a deleted topic can wait
    name bytea NOT NULL,                       -- UTF-8, whatever the encoding of the database; compared byte for byte
    incarnation bigint NOT NULL,
    horizon_position bigint NOT NULL DEFAULT 0,
    horizon_tag bigint NOT NULL DEFAULT 0,
    last_position bigint NOT NULL DEFAULT 0,
    last_tag bigint NOT NULL DEFAULT 0,
    size bigint NOT NULL DEFAULT 0,            -- payload bytes retained; records retained = last - horizon
    largest bigint NOT NULL DEFAULT 0,         -- payload bytes of the largest record ever
    last_at timestamptz NOT NULL,              -- stamp of the last record, at first of the topic's birth
    first_at timestamptz,                      -- stamp of the earliest retained record, NULL when there is none
    idle_since timestamptz,                    -- last_at while there is none and the topic is not sealed
    sealed boolean NOT NULL DEFAULT false,
    seal_error bytea
) WITH (fillfactor = 70);                      -- room for an append's new version of a row on the same page

CREATE UNIQUE INDEX {topics_by_name} ON {topics} (name);

-- What a sweep looks for. An append changes neither column, except the first one after a topic was empty: all others
-- leave every index alone.
CREATE INDEX {topics_by_age} ON {topics} (first_at, id) WHERE first_at IS NOT NULL;
CREATE INDEX {topics_by_idleness} ON {topics} (idle_since, id) WHERE idle_since IS NOT NULL;

CREATE TABLE {records} (
    topic_id bigint NOT NULL,
    position bigint NOT NULL,
    at timestamptz NOT NULL,
    tag bigint NOT NULL,
    payload bytea NOT NULL,
    PRIMARY KEY (topic_id, position)
);

CREATE TABLE {graves} (
    name bytea PRIMARY KEY,
    incarnation bigint NOT NULL,
    deleted_at timestamptz NOT NULL
);

CREATE INDEX {graves_by_age} ON {graves} (deleted_at);

-- Records before a horizon, or of a deleted topic, that are not removed yet: those up to a position.
CREATE TABLE {remains} (
    topic_id bigint PRIMARY KEY,
    through bigint NOT NULL
);
