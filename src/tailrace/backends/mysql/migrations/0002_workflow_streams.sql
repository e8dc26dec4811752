-- Workflow Streams: runs, their streams, and the items of these. Instants are microseconds since the epoch.
-- Statements end at a semicolon at the end of a line. DDL commits by itself: each can be run again.

CREATE TABLE IF NOT EXISTS {workflow_runs} (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    namespace VARBINARY(512) NOT NULL,
    workflow_id VARBINARY(764) NOT NULL,
    run_id VARBINARY(764) NOT NULL,
    registered TINYINT NOT NULL,                      -- 0: created by its first append
    workflow_type VARBINARY(764),
    task_queue VARBINARY(764),
    started_at BIGINT NOT NULL,
    ended_at BIGINT,
    going_on TINYINT,                                 -- 1 while a registered run has not ended: a workflow has one such run
    prune_at BIGINT,                                  -- ended_at, or later after a failure; how long it is kept is for sweeps to say
    UNIQUE KEY by_id (namespace, workflow_id, run_id),
    UNIQUE KEY by_going_on (namespace, workflow_id, going_on),
    KEY by_end (prune_at, id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET = binary;

-- A stream that has expired stays as a tombstone, with its items gone, until its run is deleted.
CREATE TABLE IF NOT EXISTS {workflow_streams} (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    run BIGINT UNSIGNED NOT NULL,
    stream_name VARBINARY(191) NOT NULL,
    name VARBINARY(64) NOT NULL,                      -- of the topic that readers follow
    incarnation BIGINT NOT NULL,
    horizon_position BIGINT NOT NULL DEFAULT 0,
    last_position BIGINT NOT NULL DEFAULT 0,          -- of the last item: its offset plus one
    last_tag INT UNSIGNED NOT NULL DEFAULT 0,
    largest INT UNSIGNED NOT NULL DEFAULT 0,          -- bytes of the largest document ever: sizes a page
    sealed TINYINT NOT NULL DEFAULT 0,                -- 0 open, 1 closed, 2 errored
    pending BIGINT NOT NULL DEFAULT 0,
    opened_at BIGINT NOT NULL,
    last_appended_at BIGINT,
    closed_at BIGINT,
    error_reason VARBINARY(764),
    retention_seconds BIGINT,
    expires_at BIGINT,
    reclaim_at BIGINT,                                -- expires_at, or later after a failure; NULL once nothing is left to reclaim
    lease_until BIGINT,
    changed_at BIGINT NOT NULL DEFAULT 0,             -- of whatever readers have to hear of
    UNIQUE KEY by_topic (name),
    UNIQUE KEY by_name (run, stream_name),
    KEY by_deadline (reclaim_at, id),
    KEY by_lease (lease_until, id),
    KEY by_change (changed_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET = binary;

CREATE TABLE IF NOT EXISTS {workflow_items} (
    stream BIGINT UNSIGNED NOT NULL,
    position BIGINT NOT NULL,
    tag INT UNSIGNED NOT NULL,
    idempotency_key VARBINARY(764),
    digest BINARY(16) NOT NULL,                       -- of the payload, to tell a retry from a conflict
    document LONGBLOB NOT NULL,
    PRIMARY KEY (stream, position),
    UNIQUE KEY by_key (stream, idempotency_key)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET = binary;
