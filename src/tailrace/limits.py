"""Every bound of the library, with a sentence on why it is there."""

MAX_TOPIC_NAME_BYTES = 512
"""Bytes of UTF-8 in a topic name: fits an index key on every store."""

MAX_SEAL_ERROR_BYTES = 1024
"""Bytes of UTF-8 in the reason given to ``seal``: a reason, not a payload."""

MAX_CURSOR_CHARS = 64
"""Characters in a cursor: anything longer is refused before it is looked at."""

MAX_PAYLOAD_BYTES = 16 * 2**20
"""Bytes in one payload unless the store allows less: a record is held whole in memory by every reader."""

MAX_APPEND_MANY = 4096
"""Payloads in one ``append_many``: it is one transaction, and others wait for it."""

MAX_TOKEN_PARTY_BYTES = 512
"""Bytes of UTF-8 in a token's audience, and in its tenant: names, each authenticated with every token."""

MAX_TIMEOUT = 365 * 86400.0
"""Seconds that any timeout is cut to: the platform's own waits overflow far above it."""
