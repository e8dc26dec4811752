-- Workflow Streams: runs, their streams, and the items of these. Instants are microseconds since the epoch.

CREATE TABLE workflow_runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace BLOB NOT NULL,
    workflow_id BLOB NOT NULL,
    run_id BLOB NOT NULL,
    registered INTEGER NOT NULL,           -- 0: created by its first append
    workflow_type BLOB,
    task_queue BLOB,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    going_on INTEGER,                      -- 1 while a registered run has not ended: a workflow has one such run
    prune_at INTEGER,                      -- ended_at, or later after a failure; when it is kept no longer is for sweeps to say
    UNIQUE (namespace, workflow_id, run_id),
    UNIQUE (namespace, workflow_id, going_on)
);

CREATE INDEX workflow_runs_by_end ON workflow_runs (prune_at, id) WHERE prune_at IS NOT NULL;

-- A stream that has expired stays as a tombstone, with its items gone, until its run is deleted.
CREATE TABLE workflow_streams (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run INTEGER NOT NULL,
    stream_name BLOB NOT NULL,
    name BLOB NOT NULL UNIQUE,             -- of the topic that readers follow
    incarnation INTEGER NOT NULL,
    horizon_position INTEGER NOT NULL DEFAULT 0,
    last_position INTEGER NOT NULL DEFAULT 0,  -- of the last item: its offset plus one
    last_tag INTEGER NOT NULL DEFAULT 0,
    largest INTEGER NOT NULL DEFAULT 0,    -- bytes of the largest document ever: sizes a page
    sealed INTEGER NOT NULL DEFAULT 0,     -- 0 open, 1 closed, 2 errored
    pending INTEGER NOT NULL DEFAULT 0,
    opened_at INTEGER NOT NULL,
    last_appended_at INTEGER,
    closed_at INTEGER,
    error_reason BLOB,
    retention_seconds INTEGER,
    expires_at INTEGER,
    reclaim_at INTEGER,                    -- expires_at, or later after a failure; NULL once nothing is left to reclaim
    lease_until INTEGER,
    UNIQUE (run, stream_name)
);

CREATE INDEX workflow_streams_by_deadline ON workflow_streams (reclaim_at, id) WHERE reclaim_at IS NOT NULL;
CREATE INDEX workflow_streams_by_lease ON workflow_streams (lease_until, id) WHERE lease_until IS NOT NULL;

CREATE TABLE workflow_items (
    stream INTEGER NOT NULL,
    position INTEGER NOT NULL,
    tag INTEGER NOT NULL,
    idempotency_key BLOB,
    digest BLOB NOT NULL,                  -- of the payload, to tell a retry from a conflict
    document BLOB NOT NULL,
    PRIMARY KEY (stream, position)
);

CREATE UNIQUE INDEX workflow_items_by_key ON workflow_items (stream, idempotency_key) WHERE idempotency_key IS NOT NULL;
