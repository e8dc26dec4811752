"""Exit codes: one table, and the one place where typed errors become codes and sentences.

Needs no extra, because a missing extra has a code too.
"""

import enum

from tailrace.errors import (
    CursorUnavailableError,
    DurableStreamError,
    DurableStreamUnavailableError,
    InvalidArgumentError,
    KeyRingError,
    StoreUnusableError,
    TopicSealedError,
)


class Code(enum.IntEnum):
    """What a script can tell from the exit status. Numbers never change their meaning."""

    OK = 0
    CHECK_FAILED = 1
    USAGE = 2
    CURSOR_UNAVAILABLE = 3
    STORE_UNAVAILABLE = 4
    STORE_UNUSABLE = 5
    TOPIC_SEALED = 6
    UNCERTAIN = 7
    ENDED_AS_FAILED = 8
    NO_SUCH_TOPIC = 9
    IDLE = 10
    MISSING_EXTRA = 11
    NOT_WRITTEN = 12
    KEYS_UNUSABLE = 13
    NOT_LISTENING = 14
    STREAM_FULL = 15
    CONFLICT = 16
    INTERRUPTED = 130
    READER_GONE = 141
    TERMINATED = 143


MEANINGS: dict[Code, str] = {
    Code.OK: "Done. For tail and runs follow: everything up to the end, or --max of it, was written.",
    Code.CHECK_FAILED: "doctor, conformance or demo found something wrong.",
    Code.USAGE: "The command line is wrong: an option, a name, a payload over the limit.",
    Code.CURSOR_UNAVAILABLE: "The place to go on from is gone, or is not a cursor of this topic.",
    Code.STORE_UNAVAILABLE: "The store is away. What is not reported as stored was not stored; trying again may help.",
    Code.STORE_UNUSABLE: "The store can not be used like this, now or later; the message says what to do.",
    Code.TOPIC_SEALED: "append: the topic is sealed, or the stream has ended. What was not stored can never be.",
    Code.UNCERTAIN: "append: some records may or may not be stored. The message says which.",
    Code.ENDED_AS_FAILED: "tail, runs follow: it has ended as failed. Everything before that was written.",
    Code.NO_SUCH_TOPIC: "describe, delete, runs: there is no such topic, run or stream.",
    Code.IDLE: "tail, runs follow: nothing came for --timeout seconds.",
    Code.MISSING_EXTRA: "A part is not installed. The message says which extra brings it.",
    Code.NOT_WRITTEN: "The output, or the cursor file, can not be written.",
    Code.KEYS_UNUSABLE: "A file with keys can not be used, or not be written; the message says why.",
    Code.NOT_LISTENING: "serve: the address can not be listened on.",
    Code.STREAM_FULL: "runs append: too many items wait for a reader. What is not reported as stored was not stored.",
    Code.CONFLICT: "runs: a key was used for something else before, or the run is there already.",
    Code.INTERRUPTED: "Interrupted (Ctrl-C).",
    Code.READER_GONE: "Whoever read our output went away, as in `| head`.",
    Code.TERMINATED: "Terminated (SIGTERM).",
}


class Stop(Exception):  # noqa: N818 - an ending, not always an error
    """End the command with this code, after these words on standard error (if any)."""

    def __init__(self, code: Code, message: str = "") -> None:
        super().__init__(message)
        self.code = code


class Terminated(KeyboardInterrupt):
    """SIGTERM, delivered as Ctrl-C is: everything is released on the way out."""


# First match wins: subclasses stand before their bases.
_CODES: tuple[tuple[type[DurableStreamError], Code], ...] = (
    (CursorUnavailableError, Code.CURSOR_UNAVAILABLE),
    (TopicSealedError, Code.TOPIC_SEALED),
    (StoreUnusableError, Code.STORE_UNUSABLE),
    (InvalidArgumentError, Code.USAGE),
    (KeyRingError, Code.KEYS_UNUSABLE),
)


def code_of(error: DurableStreamError) -> Code:
    """Return the exit code of a typed error."""
    for kind, code in _CODES:
        if isinstance(error, kind):
            return code
    if isinstance(error, DurableStreamUnavailableError):
        return Code.UNCERTAIN if error.maybe_stored else Code.STORE_UNAVAILABLE
    # Not before: it imports what only an operation on runs needs, and that has imported it already.
    from tailrace.cli.runcodes import CODES

    return next((code for kind, code in CODES if isinstance(error, kind)), Code.STORE_UNAVAILABLE)
