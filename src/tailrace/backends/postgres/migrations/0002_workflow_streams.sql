-- Workflow Streams: runs, their streams, and the items of these. Instants are microseconds since the epoch.

CREATE TABLE {workflow_runs} (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace bytea NOT NULL,
    workflow_id bytea NOT NULL,
    run_id bytea NOT NULL,
    registered bigint NOT NULL,                -- 0: created by its first append
    workflow_type bytea,
    task_queue bytea,
    started_at bigint NOT NULL,
    ended_at bigint,
    going_on bigint,                           -- 1 while a registered run has not ended: a workflow has one such run
    prune_at bigint                            -- ended_at, or later after a failure; how long it is kept is for sweeps to say
);

CREATE UNIQUE INDEX {workflow_runs_by_id} ON {workflow_runs} (namespace, workflow_id, run_id);
CREATE UNIQUE INDEX {workflow_runs_going_on} ON {workflow_runs} (namespace, workflow_id) WHERE going_on = 1;
CREATE INDEX {workflow_runs_by_end} ON {workflow_runs} (prune_at, id) WHERE prune_at IS NOT NULL;

-- A stream that has expired stays as a tombstone, with its items gone, until its run is deleted.
CREATE TABLE {workflow_streams} (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run bigint NOT NULL,
    stream_name bytea NOT NULL,
    name bytea NOT NULL,                       -- of the topic that readers follow
    incarnation bigint NOT NULL,
    horizon_position bigint NOT NULL DEFAULT 0,
    last_position bigint NOT NULL DEFAULT 0,   -- of the last item: its offset plus one
    last_tag bigint NOT NULL DEFAULT 0,
    largest bigint NOT NULL DEFAULT 0,         -- bytes of the largest document ever: sizes a page
    sealed bigint NOT NULL DEFAULT 0,          -- 0 open, 1 closed, 2 errored
    pending bigint NOT NULL DEFAULT 0,
    opened_at bigint NOT NULL,
    last_appended_at bigint,
    closed_at bigint,
    error_reason bytea,
    retention_seconds bigint,
    expires_at bigint,
    reclaim_at bigint,                         -- expires_at, or later after a failure; NULL once nothing is left to reclaim
    lease_until bigint
) WITH (fillfactor = 70);                      -- room for an append's new version of a row on the same page

CREATE UNIQUE INDEX {workflow_streams_by_topic} ON {workflow_streams} (name);
CREATE UNIQUE INDEX {workflow_streams_by_name} ON {workflow_streams} (run, stream_name);
CREATE INDEX {workflow_streams_by_deadline} ON {workflow_streams} (reclaim_at, id) WHERE reclaim_at IS NOT NULL;
CREATE INDEX {workflow_streams_by_lease} ON {workflow_streams} (lease_until, id) WHERE lease_until IS NOT NULL;

CREATE TABLE {workflow_items} (
    stream bigint NOT NULL,
    position bigint NOT NULL,
    tag bigint NOT NULL,
    idempotency_key bytea,
    digest bytea NOT NULL,                     -- of the payload, to tell a retry from a conflict
    document bytea NOT NULL,
    PRIMARY KEY (stream, position)
);

CREATE UNIQUE INDEX {workflow_items_by_key} ON {workflow_items} (stream, idempotency_key)
    WHERE idempotency_key IS NOT NULL;
