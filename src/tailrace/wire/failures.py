"""Errors as they cross inside an answer: by the names of the server's one table, and back to the very types."""

from tailrace.errors import (
    DurableStreamError,
    DurableStreamUnavailableError,
    PayloadTooLargeError,
    StoreUnusableError,
    TopicSealedError,
)

KINDS: dict[str, type[DurableStreamUnavailableError]] = {
    "sealed": TopicSealedError,
    "unavailable": DurableStreamUnavailableError,
    "overloaded": DurableStreamUnavailableError,
    "too-slow": DurableStreamUnavailableError,
    "internal": DurableStreamUnavailableError,
    "unknown-outcome": DurableStreamUnavailableError,
}
"""What waiting may help with, by the problem's name. Waiting does not help with any other one."""

MAYBE_STORED = frozenset({"internal", "unknown-outcome"})
"""Problems of an append that leave its outcome open."""


def kind_of(error: DurableStreamError) -> str:
    """Return the name under which an error crosses."""
    match error:
        case TopicSealedError():
            return "sealed"
        case StoreUnusableError():
            return "unusable-store"
        case PayloadTooLargeError():
            return "too-large"
        case DurableStreamUnavailableError(maybe_stored=True):
            return "unknown-outcome"
        case DurableStreamUnavailableError():
            return "unavailable"
        case _:
            return "internal"


def failure_of(kind: str, message: str) -> DurableStreamUnavailableError:
    """Return the error that crossed under a name. Waiting does not mend one that this release does not know."""
    return KINDS.get(kind, StoreUnusableError)(message, maybe_stored=kind in MAYBE_STORED)
