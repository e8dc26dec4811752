-- Workflow Streams: payloads outside of the database, and which streams refer to them. Instants are microseconds.

CREATE TABLE workflow_payloads (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace BLOB NOT NULL,
    name BLOB NOT NULL,                    -- the id of its reference, or its address if a producer has stored it
    doomed INTEGER NOT NULL DEFAULT 0,     -- its own id once its object is being deleted: another may have the name then
    uri BLOB NOT NULL,                     -- of the object
    codec BLOB NOT NULL,
    size INTEGER NOT NULL,
    sha256 BLOB NOT NULL,
    state INTEGER NOT NULL,                -- 0 announced, 1 uploaded, 2 claimed
    uploaded_at INTEGER NOT NULL,
    discard_at INTEGER,                    -- uploaded_at, or later after a failure; NULL while it is claimed
    attempt_until INTEGER NOT NULL DEFAULT 0,  -- until when somebody may be deleting its object
    UNIQUE (namespace, name, doomed)
);

CREATE INDEX workflow_payloads_by_discard ON workflow_payloads (discard_at, id) WHERE discard_at IS NOT NULL;
CREATE INDEX workflow_payloads_by_attempt ON workflow_payloads (namespace, attempt_until) WHERE attempt_until > 0;

CREATE TABLE workflow_claims (
    stream INTEGER NOT NULL,
    payload INTEGER NOT NULL,
    PRIMARY KEY (stream, payload)
) WITHOUT ROWID;

CREATE INDEX workflow_claims_by_payload ON workflow_claims (payload);

-- While a namespace has a hold, no object of it is deleted.
CREATE TABLE workflow_holds (
    namespace BLOB NOT NULL,
    name BLOB NOT NULL,
    placed_at INTEGER NOT NULL,
    ends_at INTEGER NOT NULL,
    PRIMARY KEY (namespace, name)
);
