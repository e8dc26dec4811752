"""The one table of errors: what each is called on the wire, its status, whether to try again, and what to do.

A problem goes out as ``application/problem+json`` (RFC 9457). Its detail never holds payloads, cursors, tokens or keys.
"""

import logging
from dataclasses import dataclass

from tailrace.errors import (
    CursorUnavailableError,
    DurableStreamError,
    DurableStreamUnavailableError,
    InvalidArgumentError,
    InvalidTokenError,
    PayloadTooLargeError,
    StoreUnusableError,
    TopicSealedError,
)

logger = logging.getLogger("tailrace.server")


@dataclass(frozen=True, slots=True)
class Kind:
    """One row of the table.

    Attributes:
        status: Of HTTP.
        retryable: Whether the same request may succeed later, unchanged.
        advice: What a client does now.
    """

    status: int
    retryable: bool
    advice: str


KINDS = {
    "bad-request": Kind(400, False, "Correct the request; nothing was done."),
    "bad-topic": Kind(400, False, "Use a name of 1 to 512 bytes of UTF-8 without NUL, percent-encoded in the path."),
    "bad-token": Kind(400, False, "Start anew: with start=beginning, start=tail, or a new checkpoint."),
    "unauthenticated": Kind(401, False, "Send a key, a bearer token or a ticket that is valid."),
    "forbidden": Kind(403, False, "Ask for a credential with this right on this topic."),
    "bad-host": Kind(400, False, "Use a host name that this server is configured for."),
    "bad-origin": Kind(403, False, "Add the origin to those that this server is configured for."),
    "proxied-without-auth": Kind(403, False, "Configure authentication before you put a proxy in front."),
    "not-found": Kind(404, False, "Check the path; every route is in /openapi.json."),
    "no-topic": Kind(404, False, "The first append creates the topic."),
    "method-not-allowed": Kind(405, False, "Use a method that the header Allow names."),
    "sealed": Kind(409, False, "Stop appending: the topic has ended for good. Nothing was stored."),
    "gone": Kind(410, False, "Records were lost: reload your snapshot, then start from the beginning or the tail."),
    "too-large": Kind(413, False, "Send a smaller body or payload; nothing was stored."),
    "uri-too-long": Kind(414, False, "Shorten the URL."),
    "unsupported-type": Kind(415, False, "Send a content type that the route names."),
    "headers-too-large": Kind(431, False, "Send fewer or smaller headers."),
    "too-slow": Kind(408, True, "Send the request faster; nothing was stored."),
    "internal": Kind(500, False, "Tell the operator: the log has the cause. The outcome is unknown."),
    "unsupported": Kind(501, False, "This store can not do that."),
    "overloaded": Kind(503, True, "Come back after the time in Retry-After."),
    "unavailable": Kind(503, True, "The store is away; nothing was stored. Try again."),
    "unknown-outcome": Kind(503, False, "It may have been stored: a retry may duplicate it. Read first."),
    "unusable-store": Kind(503, False, "Tell the operator: the store needs repair. Nothing was stored."),
}  # fmt: skip


class Problem(Exception):  # noqa: N818 - the word of RFC 9457
    """A request that ends with an error of the table.

    Attributes:
        name: Of a row.
        detail: What it was here, one sentence.
        headers: To send with it.
    """

    def __init__(self, name: str, detail: str, *, headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
        super().__init__(detail)
        self.name = name
        self.detail = detail
        self.headers = headers

    @property
    def kind(self) -> Kind:
        """The row."""
        return KINDS[self.name]

    @property
    def content(self) -> dict[str, object]:
        """What is sent: ``type``, ``title``, ``status``, ``detail``, ``retryable`` and ``advice``."""
        kind = self.kind
        return {
            "type": f"urn:tailrace:problem:{self.name}",
            "title": self.name.replace("-", " "),
            "status": kind.status,
            "detail": self.detail,
            "retryable": kind.retryable,
            "advice": kind.advice,
        }


_FOR_STRANGERS = {
    "internal": "the server failed",
    "unavailable": "the store is away",
    "unknown-outcome": "the store did not say whether it was stored",
    "unusable-store": "the store can not be used as it is",
}
"""What is said instead of a store's own words: those name hosts, files and users."""


def problem_of(error: DurableStreamError, *, in_confidence: bool = False) -> Problem:
    """Return what an error of the library is on the wire.

    Args:
        error: The error.
        in_confidence: Whether the store's own words go to a service that is trusted; otherwise the log has them.
    """
    name, said = _name_of(error), str(error)
    if in_confidence or name not in _FOR_STRANGERS:
        return Problem(name, said)
    logger.warning("told as %s: %s", name, said)
    return Problem(name, _FOR_STRANGERS[name])


def _name_of(error: DurableStreamError) -> str:
    match error:
        case CursorUnavailableError():
            return "gone"
        case InvalidTokenError():
            return "bad-token"
        case TopicSealedError():
            return "sealed"
        case DurableStreamUnavailableError(maybe_stored=True):
            return "unknown-outcome"
        case StoreUnusableError():
            return "unusable-store"
        case DurableStreamUnavailableError():
            return "unavailable"
        case PayloadTooLargeError():
            return "too-large"
        case InvalidArgumentError():
            return "bad-request"
        case _:
            return "internal"
