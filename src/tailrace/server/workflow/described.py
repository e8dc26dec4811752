"""What each route below ``/api`` is for, takes and gives: the hand-written half of its part of ``/openapi.json``."""

from collections.abc import Mapping

from tailrace.server.described import JSON, Operation, Parameter
from tailrace.server.schemas import TEXT, ref
from tailrace.server.workflow.schemas import BYTES, whole
from tailrace.workflow import bounds
from tailrace.workflow.payloads.transport import MEDIA_TYPE, PATH

_RUN = "/api/workflows/{workflow_id}/runs/{run_id}"
_STREAM = f"{_RUN}/streams/{{stream_name}}"

_FROM = Parameter(name="from", about="The offset to begin at, inclusive.", schema={**whole(0), "default": 0})
_EVENT = {
    "description": "An item, as a page has it. Events gap and end are the last ones.",
    "properties": {"id": TEXT, "event": {"enum": ["message", "base64", "gap", "end"]}, "data": TEXT},
}
_NO_RUN, _NO_STREAM, _ENDED = "instance_not_found", "stream_not_found", ("stream_closed", "stream_errored")

_PAYLOAD = tuple(
    f"external_payload_{word}" for word in ("not_found", "expired", "unavailable", "unsupported", "integrity_mismatch")
)
_ANNOUNCED = tuple(
    Parameter(name=f"X-Durable-Workflow-Payload-{name}", about=about, schema=schema, place="header", required=True)
    for name, about, schema in (
        ("Codec", "Of the payload.", {"enum": sorted(bounds.CODECS)}),
        ("Size", "How many bytes it has.", {"type": "string", "pattern": "^(0|[1-9][0-9]{0,18})$"}),
        ("SHA256", "Of these bytes, in lower-case hexadecimal.", {"type": "string", "pattern": "^[0-9a-f]{64}$"}),
    )
)

OPERATIONS: Mapping[tuple[str, str], Operation] = {
    ("GET", "/api/cluster/info"): Operation(
        summary="Say what this server is and can do. For everybody who is let in.",
        answers={200: (JSON, {"type": "object"})},
    ),
    ("POST", "/api/workflows"): Operation(
        summary="Register a run.",
        answers={201: (JSON, ref("Run"))},
        body={JSON: ref("NewRun")},
        body_required=True,
        problems=("instance_already_started", _NO_RUN),
    ),
    ("GET", "/api/workflows/{workflow_id}"): Operation(
        summary="Describe the run of a workflow that was started last.",
        answers={200: (JSON, ref("Run"))},
        problems=(_NO_RUN,),
    ),
    ("GET", _RUN): Operation(summary="Describe a run.", answers={200: (JSON, ref("Run"))}, problems=(_NO_RUN,)),
    ("DELETE", _RUN): Operation(
        summary="Remove a run with everything in it. Needs the role admin.",
        answers={204: None},
        problems=(_NO_RUN, "external_payload_held", "external_payload_unavailable"),
    ),
    ("POST", f"{_RUN}/end"): Operation(
        summary="Note that a run has ended. The first end stands; its streams stay as they are.",
        answers={200: (JSON, ref("Run"))},
        body={JSON: {"type": "object"}},
        problems=(_NO_RUN,),
    ),
    ("GET", f"{_RUN}/streams"): Operation(
        summary="List the streams of a run, by name.", answers={200: (JSON, ref("StreamList"))}, problems=(_NO_RUN,)
    ),
    ("GET", _STREAM): Operation(
        summary="Describe a stream.", answers={200: (JSON, ref("OneStream"))}, problems=(_NO_RUN, _NO_STREAM)
    ),
    ("GET", f"{_STREAM}/items"): Operation(
        summary="Read items from an offset on; if there are none, wait for the first ones.",
        answers={200: (JSON, ref("ItemPage"))},
        parameters=(
            _FROM,
            Parameter(
                name="max_items",
                about="Items at most.",
                schema={**whole(1, bounds.MAX_ITEMS), "default": bounds.DEFAULT_PAGE_ITEMS},
            ),
            Parameter(
                name="wait_seconds",
                about="Seconds to wait if there is nothing.",
                schema={**whole(0, bounds.MAX_WAIT_SECONDS), "default": 0},
            ),
        ),
        problems=(_NO_RUN, _NO_STREAM),
    ),
    ("POST", f"{_STREAM}/items"): Operation(
        summary="Append items, all or none. The first ones open the stream.",
        answers={200: (JSON, ref("Appended"))},
        body={JSON: ref("Batch")},
        body_required=True,
        problems=(
            _NO_RUN,
            _NO_STREAM,
            *_ENDED,
            "stream_full",
            "idempotency_conflict",
            *_PAYLOAD,
            "external_payload_oversized",
        ),
    ),
    ("POST", f"{_STREAM}/close"): Operation(
        summary="Close a stream, or end it as errored. The first end stands.",
        answers={200: (JSON, ref("OneStream"))},
        body={JSON: ref("End")},
        problems=(_NO_RUN, _NO_STREAM),
    ),
    ("POST", f"{_STREAM}/lease"): Operation(
        summary="Tell that the producer is alive: the stream ends as errored if it is not heard of again in time.",
        answers={200: (JSON, ref("OneStream"))},
        body={JSON: ref("Lease")},
        body_required=True,
        problems=(_NO_RUN, _NO_STREAM, *_ENDED),
    ),
    ("GET", f"{_STREAM}/events"): Operation(
        summary="Stream items as Server-Sent Events, resumed by their ids.",
        answers={
            200: ("text/event-stream", _EVENT),
            204: None,
        },
        parameters=(
            _FROM,
            Parameter(name="cursor", about="An id: begin strictly after it. Wins over from.", schema=TEXT),
            Parameter(
                name="Last-Event-ID",
                about="The id of the event seen last. Wins over cursor.",
                schema=TEXT,
                place="header",
            ),
        ),
        problems=(_NO_RUN, _NO_STREAM, "bad_token", "gone"),
    ),
    ("POST", f"{_STREAM}/tickets"): Operation(
        summary="Make a ticket with which a browser may follow a stream for a minute.",
        answers={201: (JSON, ref("Ticket"))},
        body={JSON: ref("StreamTicketRequest")},
    ),
    ("POST", PATH): Operation(
        summary="Upload a payload that items may refer to. The same bytes again are the same payload.",
        answers={201: (JSON, ref("UploadedPayload"))},
        parameters=_ANNOUNCED,
        body={MEDIA_TYPE: BYTES},
        body_required=True,
        problems=(
            "external_payload_oversized",
            "external_payload_unsupported",
            "external_payload_integrity_mismatch",
            "external_payload_exhausted",
            "external_payload_unavailable",
            "request_timeout",
        ),
    ),
    ("GET", f"{PATH}/{{reference_id}}"): Operation(
        summary="Fetch a payload. The answer has the three headers of the request.",
        answers={200: (MEDIA_TYPE, BYTES)},
        parameters=_ANNOUNCED,
        problems=_PAYLOAD,
    ),
}
"""Every route, by method and path; ``problems`` are reasons, beside those of all routes of its kind."""
