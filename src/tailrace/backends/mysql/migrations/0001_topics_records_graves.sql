-- The life of each topic, its records, what is remembered of deleted ones, and what is still to be reclaimed.
-- Statements end at a semicolon at the end of a line. DDL commits by itself: each can be run again.

CREATE TABLE IF NOT EXISTS {topics} (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    name VARBINARY(512) NOT NULL,                     -- UTF-8, compared byte for byte
    incarnation BIGINT NOT NULL,
    horizon_position BIGINT NOT NULL DEFAULT 0,
    horizon_tag INT UNSIGNED NOT NULL DEFAULT 0,
    last_position BIGINT NOT NULL DEFAULT 0,
    last_tag INT UNSIGNED NOT NULL DEFAULT 0,
    size BIGINT NOT NULL DEFAULT 0,                   -- payload bytes retained; records retained = last - horizon
    largest INT UNSIGNED NOT NULL DEFAULT 0,          -- payload bytes of the largest record ever: sizes a page
    first_at BIGINT,                                  -- stamp of the earliest retained record, NULL when there is none
    sealed TINYINT NOT NULL DEFAULT 0,
    seal_error VARBINARY(1024),
    last_at BIGINT NOT NULL,                          -- of the last append; microseconds since the epoch, as all stamps
    idle_at BIGINT,                                   -- last_at while it is empty and not sealed, for sweeps
    changed_at BIGINT NOT NULL,                       -- of whatever readers have to hear of
    UNIQUE KEY by_name (name),
    KEY by_age (first_at, id),
    KEY by_idleness (idle_at, id),
    KEY by_change (changed_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET = binary;

CREATE TABLE IF NOT EXISTS {records} (
    topic_id BIGINT UNSIGNED NOT NULL,
    position BIGINT NOT NULL,
    tag INT UNSIGNED NOT NULL,
    at BIGINT NOT NULL,
    size INT UNSIGNED NOT NULL,                       -- of the payload, which need not be fetched to know it
    payload LONGBLOB NOT NULL,
    PRIMARY KEY (topic_id, position)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET = binary;

CREATE TABLE IF NOT EXISTS {graves} (
    name VARBINARY(512) NOT NULL PRIMARY KEY,
    incarnation BIGINT NOT NULL,
    deleted_at BIGINT NOT NULL,
    KEY by_age (deleted_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET = binary;

CREATE TABLE IF NOT EXISTS {remains} (
    topic_id BIGINT UNSIGNED NOT NULL PRIMARY KEY     -- deleted topics whose records are not reclaimed yet
) ENGINE = InnoDB DEFAULT CHARACTER SET = binary;
