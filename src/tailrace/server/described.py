"""What each route is for, takes and gives: the hand-written half of ``/openapi.json``. Data only."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tailrace import limits
from tailrace.server.schemas import TEXT, Schema, ref
from tailrace.wire import CONTENT_TYPE, PATHS

JSON = "application/json"
NDJSON = "application/x-ndjson"
ANY = "*/*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One that stands in the query, or in a header."""

    name: str
    about: str
    schema: Schema
    place: str = "query"
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A method on a path.

    Attributes:
        summary: What it does, one sentence.
        answers: Media type and schema by status, of answers that are no problems; no type for an empty one.
        parameters: Beside the topic.
        body: Media types and schemas.
        body_required: Whether there must be one.
        problems: Rows of the error table, beside those that are possible everywhere.
    """

    summary: str
    answers: Mapping[int, tuple[str, Schema] | None]
    parameters: tuple[Parameter, ...] = ()
    body: Mapping[str, Schema] = field(default_factory=dict)
    body_required: bool = False
    problems: tuple[str, ...] = ()


EVERYWHERE = ("bad-request", "bad-host", "proxied-without-auth", "uri-too-long", "headers-too-large", "too-slow",
              "internal", "not-found", "method-not-allowed")  # fmt: skip
WITH_CREDENTIAL = ("unauthenticated", "forbidden")
WITH_TOPIC = ("bad-topic", "unavailable", "unusable-store")
THAT_WRITE = ("bad-origin",)
WITH_BODY = ("too-large",)

_START = Parameter(
    name="start",
    about="Where to begin: before the earliest record that is kept, or after the last one.",
    schema={"enum": ["beginning", "tail"]},
)
_CURSOR = Parameter(name="cursor", about="A token: begin strictly after it. Wins over start.", schema=TEXT)

_TOPICS_AND_SERVER: Mapping[tuple[str, str], Operation] = {
    ("GET", "/v1/topics/{topic}"): Operation(
        summary="Say where a topic stands.", answers={200: (JSON, ref("Description"))}, problems=("no-topic",)
    ),
    ("DELETE", "/v1/topics/{topic}"): Operation(
        summary="Remove a topic with everything in it.",
        answers={204: None},
        problems=("no-topic", "unsupported", "unknown-outcome"),
    ),
    ("POST", "/v1/topics/{topic}/records"): Operation(
        summary="Append the body as one record; or its lines, if it is newline-delimited.",
        answers={
            204: None,
            200: (NDJSON, {**TEXT, "description": "One outcome a line: all were stored."}),
            207: (NDJSON, {**TEXT, "description": "One outcome a line, status 201 or a problem: not all were stored."}),
        },
        parameters=(
            Parameter(
                name="encoding",
                about="What the lines of a newline-delimited body are; no parameter of other bodies.",
                schema={"enum": ["text", "base64"], "default": "text"},
            ),
        ),
        body={
            ANY: {"description": "The payload, byte for byte."},
            NDJSON: {**TEXT, "description": f"A payload a line, {limits.MAX_APPEND_MANY} at most."},
        },
        problems=("sealed", "unknown-outcome"),
    ),
    ("GET", "/v1/topics/{topic}/records"): Operation(
        summary="Read a page; if there is nothing, wait for the first record.",
        answers={200: (JSON, ref("Page"))},
        parameters=(
            _START,
            _CURSOR,
            Parameter(
                name="limit",
                about="Records at most.",
                schema={"type": "integer", "minimum": 1, "maximum": limits.MAX_APPEND_MANY, "default": 512},
            ),
            Parameter(
                name="wait",
                about="Seconds to wait if there is nothing; cut to what the server allows.",
                schema={"type": "number", "minimum": 0, "default": 0},
            ),
            Parameter(
                name="payloads",
                about="How payloads are given; one that is no JSON as text, one that is no text as base64.",
                schema={"enum": ["text", "json", "base64"], "default": "text"},
            ),
        ),
        problems=("bad-token", "gone", "overloaded"),
    ),
    ("GET", "/v1/topics/{topic}/events"): Operation(
        summary="Stream a topic as Server-Sent Events, resumed by their ids.",
        answers={
            200: ("text/event-stream", {**TEXT, "description": "Events gap and end are the last ones."}),
            204: None,
        },
        parameters=(
            _START,
            _CURSOR,
            Parameter(
                name="encoding",
                about="Data as text, or all of it as base64.",
                schema={"enum": ["text", "base64"], "default": "text"},
            ),
            Parameter(
                name="Last-Event-ID",
                about="The id of the event seen last. Wins over cursor.",
                schema=TEXT,
                place="header",
            ),
        ),
        problems=("bad-token",),
    ),
    ("POST", "/v1/topics/{topic}/checkpoint"): Operation(
        summary="Make a token for the tail: fix the start now, dispatch the work, stream later.",
        answers={200: (JSON, ref("Token"))},
        body={JSON: ref("Checkpoint")},
        problems=("gone", "unsupported-type"),
    ),
    ("POST", "/v1/topics/{topic}/seal"): Operation(
        summary="End a topic for good, as finished or as failed.",
        answers={204: None},
        body={JSON: ref("Seal")},
        problems=("unsupported-type", "sealed", "unknown-outcome"),
    ),
    ("POST", "/v1/tickets"): Operation(
        summary="Make a ticket with which a browser may read a topic or prefix for a minute.",
        answers={201: (JSON, ref("Ticket"))},
        body={JSON: ref("TicketRequest")},
        body_required=True,
        problems=("bad-topic", "unsupported-type"),
    ),
    ("GET", "/healthz"): Operation(
        summary="Say that the process lives. Needs no credential.", answers={200: (JSON, ref("Status"))}
    ),
    ("GET", "/readyz"): Operation(
        summary="Say whether the store answers and requests should be sent here. Needs no credential.",
        answers={200: (JSON, ref("Status"))},
        problems=("unavailable",),
    ),
    ("GET", "/metrics"): Operation(
        summary="Counters and gauges for Prometheus. Needs admin on every topic.", answers={200: ("text/plain", TEXT)}
    ),
    ("GET", "/openapi.json"): Operation(
        summary="This document. Needs no credential.", answers={200: (JSON, {"type": "object"})}
    ),
}


def _of_store(summary: str, *problems: str, has_body: bool = True) -> Operation:
    about: Schema = {"description": "Of this release: what it holds is between the server and the library's client."}
    return Operation(
        summary=summary,
        answers={200: (CONTENT_TYPE, about)},
        body={CONTENT_TYPE: about} if has_body else {},
        body_required=has_body,
        problems=("bad-topic", "unavailable", "unusable-store", *problems),
    )


_STORE: Mapping[tuple[str, bytes], Operation] = {
    ("GET", PATHS.describe): _of_store("For the library's client: what the store can do.", has_body=False),
    ("POST", PATHS.append): _of_store("For the library's client: append to many topics.", "unknown-outcome"),
    ("POST", PATHS.read): _of_store("For the library's client: read many topics.", "overloaded"),
    ("POST", PATHS.bounds): _of_store("For the library's client: say where a topic stands.", "overloaded"),
    ("POST", PATHS.seal): _of_store("For the library's client: end a topic.", "sealed", "unknown-outcome"),
    ("POST", PATHS.watch): _of_store("For the library's client: tell which topics may have moved.", "overloaded"),
    ("POST", PATHS.topics): _of_store("For the library's client: list topics.", "unsupported"),
    ("POST", PATHS.trim): _of_store("For the library's client: remove old records of a topic.", "unsupported"),
    ("POST", PATHS.delete): _of_store("For the library's client: remove a topic.", "unsupported"),
    ("POST", PATHS.sweep): _of_store("For the library's client: remove old records of all topics.", "unsupported"),
}

OPERATIONS: Mapping[tuple[str, str], Operation] = {
    **_TOPICS_AND_SERVER,
    **{(method, path.decode()): operation for (method, path), operation in _STORE.items()},
}
"""Every route, by method and path."""
