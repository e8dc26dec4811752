-- Workflow Streams: payloads outside of the database, and which streams refer to them. Instants are microseconds.

CREATE TABLE {workflow_payloads} (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace bytea NOT NULL,
    name bytea NOT NULL,                       -- the id of its reference, or its address if a producer has stored it
    doomed bigint NOT NULL DEFAULT 0,          -- its own id once its object is being deleted: another may have the name then
    uri bytea NOT NULL,                        -- of the object
    codec bytea NOT NULL,
    size bigint NOT NULL,
    sha256 bytea NOT NULL,
    state bigint NOT NULL,                     -- 0 announced, 1 uploaded, 2 claimed
    uploaded_at bigint NOT NULL,
    discard_at bigint,                         -- uploaded_at, or later after a failure; NULL while it is claimed
    attempt_until bigint NOT NULL DEFAULT 0    -- until when somebody may be deleting its object
);

CREATE UNIQUE INDEX {workflow_payloads_by_name} ON {workflow_payloads} (namespace, name, doomed);
CREATE INDEX {workflow_payloads_by_discard} ON {workflow_payloads} (discard_at, id) WHERE discard_at IS NOT NULL;
CREATE INDEX {workflow_payloads_by_attempt} ON {workflow_payloads} (namespace, attempt_until) WHERE attempt_until > 0;

CREATE TABLE {workflow_claims} (
    stream bigint NOT NULL,
    payload bigint NOT NULL,
    PRIMARY KEY (stream, payload)
);

CREATE INDEX {workflow_claims_by_payload} ON {workflow_claims} (payload);

-- While a namespace has a hold, no object of it is deleted.
CREATE TABLE {workflow_holds} (
    namespace bytea NOT NULL,
    name bytea NOT NULL,
    placed_at bigint NOT NULL,
    ends_at bigint NOT NULL,
    PRIMARY KEY (namespace, name)
);
