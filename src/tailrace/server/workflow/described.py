"""What each route below ``/api`` is for, takes and gives: the hand-written half of its part of ``/openapi.json``."""

from collections.abc import Mapping

from tailrace.server.described import JSON, Operation, Parameter
from tailrace.server.schemas import TEXT, ref
from tailrace.server.workflow.schemas import whole
from tailrace.workflow import bounds

_RUN = "/api/workflows/{workflow_id}/runs/{run_id}"
_STREAM = f"{_RUN}/streams/{{stream_name}}"

_FROM = Parameter(name="from", about="The offset to begin at, inclusive.", schema={**whole(0), "default": 0})
_EVENT = {
    "description": "An item, as a page has it. Events gap and end are the last ones.",
    "properties": {"id": TEXT, "event": {"enum": ["message", "base64", "gap", "end"]}, "data": TEXT},
}
_NO_RUN, _NO_STREAM, _ENDED = "instance_not_found", "stream_not_found", ("stream_closed", "stream_errored")

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
        summary="Remove a run with everything in it. Needs the role admin.", answers={204: None}, problems=(_NO_RUN,)
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
        problems=(_NO_RUN, _NO_STREAM, *_ENDED, "stream_full", "idempotency_conflict"),
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
}
"""Every route, by method and path; ``problems`` are reasons, beside those of all routes of its kind."""
