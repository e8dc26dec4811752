-- Workflow Streams: payloads outside of the database, and which streams refer to them. Instants are microseconds.
-- Statements end at a semicolon at the end of a line. DDL commits by itself: each can be run again.

CREATE TABLE IF NOT EXISTS {workflow_payloads} (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    namespace VARBINARY(512) NOT NULL,
    name VARBINARY(1024) NOT NULL,                    -- the id of its reference, or its address if a producer has stored it
    doomed BIGINT UNSIGNED NOT NULL DEFAULT 0,        -- its own id once its object is being deleted: another may have the name then
    uri VARBINARY(1024) NOT NULL,                     -- of the object
    codec VARBINARY(64) NOT NULL,
    size BIGINT NOT NULL,
    sha256 BINARY(32) NOT NULL,
    state TINYINT NOT NULL,                           -- 0 announced, 1 uploaded, 2 claimed
    uploaded_at BIGINT NOT NULL,
    discard_at BIGINT,                                -- uploaded_at, or later after a failure; NULL while it is claimed
    attempt_until BIGINT NOT NULL DEFAULT 0,          -- until when somebody may be deleting its object
    UNIQUE KEY by_name (namespace, name, doomed),
    KEY by_discard (discard_at, id),
    KEY by_attempt (namespace, attempt_until)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET = binary;

CREATE TABLE IF NOT EXISTS {workflow_claims} (
    stream BIGINT UNSIGNED NOT NULL,
    payload BIGINT UNSIGNED NOT NULL,
    PRIMARY KEY (stream, payload),
    KEY by_payload (payload)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET = binary;

-- While a namespace has a hold, no object of it is deleted.
CREATE TABLE IF NOT EXISTS {workflow_holds} (
    namespace VARBINARY(512) NOT NULL,
    name VARBINARY(764) NOT NULL,
    placed_at BIGINT NOT NULL,
    ends_at BIGINT NOT NULL,
    PRIMARY KEY (namespace, name)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET = binary;
