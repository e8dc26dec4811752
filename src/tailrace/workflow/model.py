"""The words of Workflow Streams: runs, their streams, items, and what operations answer with. No I/O.

All instants are microseconds since the epoch by the clock of the database.
"""

import enum
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

TOPIC_PREFIX = "workflow-stream:"
"""How the engine's names of streams begin; what follows is a digest, so that no name is too long for it."""

DEFAULT_NAMESPACE = "default"

SECOND = 1_000_000
"""In instants."""


class Status(enum.StrEnum):
    """What a stream's producer has said about its end."""

    OPEN = "open"
    CLOSED = "closed"
    ERRORED = "errored"


class Origin(enum.StrEnum):
    """Where an item comes from."""

    WORKFLOW_COMMAND = "workflow_command"
    SIGNAL_HANDLER = "signal_handler"
    UPDATE_HANDLER = "update_handler"
    EXTERNAL = "external"


@dataclass(frozen=True, slots=True)
class Run:
    """The identity of one run of a workflow.

    Attributes:
        namespace: Lower case; ids of one namespace say nothing about those of another.
        workflow_id: Of the workflow, which may have many runs.
        run_id: Of this one.
    """

    namespace: str
    workflow_id: str
    run_id: str

    def stream(self, name: str) -> "StreamRef":
        """Return the identity of one of its streams."""
        return StreamRef(self, name)


@dataclass(frozen=True, slots=True)
class StreamRef:
    """The identity of a stream: unique in its run, compared byte for byte."""

    run: Run
    name: str
    topic: str = field(init=False, repr=False)
    """The engine's name of it."""

    def __post_init__(self) -> None:
        digest = hashlib.blake2b(digest_size=20)
        for part in (self.run.namespace, self.run.workflow_id, self.run.run_id, self.name):
            raw = part.encode("utf-8", "surrogatepass")
            # With their lengths: no two identities run together to one text.
            digest.update(len(raw).to_bytes(4, "big") + raw)
        object.__setattr__(self, "topic", TOPIC_PREFIX + digest.hexdigest())


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """What a stream looks like at one instant.

    Attributes:
        last_offset: Of the last item; -1 if there is none.
        pending_items: Items that were not part of a delivery up to the head yet. Advisory.
        retention_seconds: How long after its end it is kept; ``None`` while it is open.
    """

    stream_name: str
    status: Status
    last_offset: int
    total_items: int
    pending_items: int
    opened_at: int
    last_appended_at: int | None = None
    closed_at: int | None = None
    error_reason: str | None = None
    retention_seconds: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewItem:
    """An item to append.

    Attributes:
        payload: JSON text in UTF-8; stored and returned byte for byte.
        payload_reference: A text, or the JSON object of a reference of the runtime's registry.
        idempotency_key: The first item with a key wins; ``None`` and ``""``: it has none.
        origin, origin_reference: Where it comes from.
    """

    payload: bytes = b"null"
    payload_reference: str | dict[str, Any] | None = None
    payload_codec: str | None = None
    idempotency_key: str | None = None
    origin: str = Origin.WORKFLOW_COMMAND
    origin_reference: str | None = None
    item_type: str | None = None
    content_type: str | None = None


@dataclass(frozen=True, slots=True)
class Appended:
    """What an append came to.

    Attributes:
        stream: Afterwards.
        offsets: One per submitted item, in order; of a duplicate the offset that it got first.
        accepted: How many were stored.
        deduped: How many were duplicates.
    """

    stream: Stream
    offsets: Sequence[int]
    accepted: int
    deduped: int


class Mark(NamedTuple):
    """An item as the last one of a delivery.

    Attributes:
        offset: Of it.
        emitted_at: When it was stored. Another item has its offset, if the run was deleted and has begun anew.
    """

    offset: int
    emitted_at: int


UNDELIVERED = Mark(-1, 0)
"""Of no item."""


@dataclass(frozen=True, slots=True)
class ItemPage:
    """Items of a stream, in order and without a hole.

    Attributes:
        documents: One JSON object per item, in UTF-8: the ten keys of the wire contract.
        next_offset: Where to go on; the offset that was asked for if there are no items.
        terminal: Whether nothing will ever follow.
    """

    stream: Stream
    documents: Sequence[bytes]
    next_offset: int
    terminal: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """What a run looks like at one instant.

    Attributes:
        registered: Whether somebody has started it; otherwise its first append has created it.
        workflow_type, task_queue: As given when it was started.
        ended_at: ``None`` while it goes on.
    """

    run: Run
    registered: bool
    started_at: int
    workflow_type: str | None = None
    task_queue: str | None = None
    ended_at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepResult:
    """What one pass of retention did.

    Attributes:
        streams: Expired streams of which nothing is left but a tombstone.
        items: Items removed.
        runs: Ended runs removed, with everything in them.
        lost_producers: Streams that were ended as errored because the lease of their producer had lapsed.
        payloads: Objects of payloads deleted, in the storage outside of the database.
        held: Streams, runs and payloads left as they were because of a hold; they are tried again later.
        failed: The same because something failed.
        done: Whether nothing was left to do.
    """

    streams: int = 0
    items: int = 0
    runs: int = 0
    lost_producers: int = 0
    payloads: int = 0
    held: int = 0
    failed: int = 0
    done: bool = True
