"""What a server can be told, in one frozen dataclass. No I/O."""

from dataclasses import dataclass

from tailrace.errors import InvalidArgumentError
from tailrace.options import positive_count, positive_seconds
from tailrace.sse import StreamSettings

LIVES_FOR_RETRIES = 8
"""A token must be good for so many times the pause of a client that comes back with it."""

MAX_TICKET_GRACE = 86400.0
"""Seconds: a ticket travels in URLs, and those are kept in many places."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings(StreamSettings):
    """Bounds and times of a server, beside those of its streams.

    Attributes:
        audience: Name of this deployment; all replicas have the same one. Tokens of another are refused.
        token_lifetime: Seconds that a resume token is good for; ``None``: as long as its key.
        max_body: Bytes in a body.
        max_wait: Seconds that a read may wait for records.
        body_timeout: Seconds in which a body must have arrived.
        ticket_grace: Seconds after its expiry for which a ticket lets a stream that began with it come back.
        max_url: Bytes in path and query.
        max_headers: Headers of a request.
        max_header_bytes: Bytes in all of them.
        sweep_every: Seconds between two passes of retention of workflow streams.
    """

    audience: str = "tailrace"
    token_lifetime: float | None = None
    max_body: int = 32 * 2**20
    max_wait: float = 60.0
    body_timeout: float = 30.0
    ticket_grace: float = 3600.0
    max_url: int = 8192
    max_headers: int = 100
    max_header_bytes: int = 16 * 1024
    sweep_every: float = 10.0

    def __post_init__(self) -> None:
        # By name: a dataclass with slots is another class than the one that ``super()`` would find here.
        StreamSettings.__post_init__(self)
        for name in ("max_wait", "body_timeout", "sweep_every"):
            positive_seconds(name, getattr(self, name))
        if self.token_lifetime is not None:
            positive_seconds("token_lifetime", self.token_lifetime)
            if self.token_lifetime < LIVES_FOR_RETRIES * self.retry:
                raise InvalidArgumentError("token_lifetime must be 8 times retry or more: ids would expire on the way")
        if not 0 <= self.ticket_grace <= MAX_TICKET_GRACE:
            raise InvalidArgumentError(f"ticket_grace must be from 0 to {MAX_TICKET_GRACE:.0f} seconds")
        for name in ("max_body", "max_url", "max_headers", "max_header_bytes"):
            positive_count(name, getattr(self, name))
