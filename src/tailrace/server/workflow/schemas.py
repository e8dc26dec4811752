"""The shapes of JSON that the routes below ``/api`` take and give, as JSON Schema, for ``/openapi.json``. Data only."""

from collections.abc import Mapping
from typing import Any

from tailrace.server.schemas import EXPIRES_IN, TEXT, Schema, record, ref
from tailrace.server.workflow.reasons import REASONS
from tailrace.workflow import bounds
from tailrace.workflow.model import Status
from tailrace.workflow.payloads.references import RUNTIME_SCHEMA
from tailrace.workflow.payloads.transport import UPLOAD_SCHEMA

INSTANT: Schema = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$"}
ID: Schema = {"type": "string", "minLength": 1, "maxLength": bounds.MAX_ID_CHARS}
NAME: Schema = {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._:-]{0,190}$"}
ANY: Schema = {"description": "Any JSON."}
BYTES: Schema = {"type": "string", "format": "binary"}
PAYLOAD_ID: Schema = {"type": "string", "pattern": "^ep_[0-9A-HJKMNP-TV-Z]{26}$"}


def whole(least: int, most: int | None = None) -> dict[str, Any]:
    """Return the schema of a whole number."""
    return {"type": "integer", "minimum": least, **({} if most is None else {"maximum": most})}


def _text(most: int, least: int = 0) -> dict[str, Any]:
    return {"type": ["string", "null"], "minLength": least, "maxLength": most}


def _optional(schema: Mapping[str, Any]) -> Schema:
    return {**schema, "type": [schema["type"], "null"]}


_IDS: Mapping[str, Schema] = {"workflow_id": ID, "workflow_run_id": ID}
_KIND, _REFERENCE = _text(bounds.MAX_KIND_CHARS), _text(bounds.MAX_ID_CHARS)
_LEASE = whole(1, bounds.MAX_LEASE_SECONDS)
_PAYLOAD_REFERENCE: Schema = {
    "type": ["string", "object", "null"],
    "maxLength": bounds.MAX_ID_CHARS,
    "description": "A text, or a reference of the runtime's registry.",
}

SCHEMAS: Mapping[str, Schema] = {
    "Refusal": {
        "type": "object",
        "properties": {"message": TEXT, "reason": {"enum": list(REASONS)}},
        "required": ["message", "reason"],
        "description": "What else there is depends on the reason; what each one means is in the reference.",
    },
    "Stream": record(
        {
            "stream_name": NAME,
            "status": {"enum": [status.value for status in Status]},
            "last_offset": {**whole(-1), "description": "Of the last item; -1 if there is none."},
            "total_items": whole(0),
            "pending_items": whole(0),
            "opened_at": INSTANT,
            "last_appended_at": _optional(INSTANT),
            "closed_at": _optional(INSTANT),
            "error_reason": _text(bounds.MAX_ID_CHARS),
            "retention_seconds": _optional(whole(1, bounds.MAX_RETENTION_SECONDS)),
        }
    ),
    "Item": record(
        {
            "offset": whole(0),
            "idempotency_key": _REFERENCE,
            "origin": TEXT,
            "origin_reference": _REFERENCE,
            "item_type": _KIND,
            "content_type": _REFERENCE,
            "payload": ANY,
            "payload_reference": _PAYLOAD_REFERENCE,
            "payload_codec": _KIND,
            "emitted_at": INSTANT,
        }
    ),
    "StreamList": record({**_IDS, "count": whole(0), "streams": {"type": "array", "items": ref("Stream")}}),
    "OneStream": record({**_IDS, "stream": ref("Stream")}),
    "ItemPage": record(
        {
            **_IDS,
            "stream": ref("Stream"),
            "items": {"type": "array", "items": ref("Item"), "maxItems": bounds.MAX_ITEMS},
            "next_offset": {**whole(0), "description": "Where to go on."},
            "terminal": {"type": "boolean", "description": "Nothing will ever follow."},
        }
    ),
    "Appended": record(
        {
            **_IDS,
            "stream": ref("Stream"),
            "accepted_offsets": {"type": "array", "items": whole(0), "description": "One for each item that was sent."},
            "accepted": whole(0),
            "deduped": whole(0),
        }
    ),
    "NewItem": {
        "type": "object",
        "properties": {
            "payload": {**ANY, "description": "Any JSON; returned byte for byte."},
            "payload_reference": _PAYLOAD_REFERENCE,
            "payload_codec": {"enum": [*sorted(bounds.CODECS), None]},
            "idempotency_key": _REFERENCE,
            "origin": _text(bounds.MAX_KIND_CHARS, 1),
            "origin_reference": _REFERENCE,
            "item_type": _KIND,
            "content_type": _REFERENCE,
        },
    },
    "Batch": {
        "type": "object",
        "properties": {
            "items": {"type": "array", "items": ref("NewItem"), "minItems": 1, "maxItems": bounds.MAX_ITEMS},
            "max_pending_items": _optional(whole(1, bounds.MAX_PENDING_ITEMS)),
            "lease_seconds": _optional(_LEASE),
        },
        "required": ["items"],
    },
    "End": {
        "type": "object",
        "properties": {
            "error_reason": {**_text(bounds.MAX_ID_CHARS, 1), "description": "Ends the stream as errored."},
            "retention_seconds": _optional(whole(1, bounds.MAX_RETENTION_SECONDS)),
        },
    },
    "Lease": {"type": "object", "properties": {"lease_seconds": _LEASE}, "required": ["lease_seconds"]},
    "StreamTicketRequest": {"type": "object", "properties": {"expires_in": EXPIRES_IN}},
    "UploadedPayload": record(
        {
            "schema": {"const": UPLOAD_SCHEMA},
            "transport_version": {"const": 1},
            "reference": record(
                {
                    "schema": {"const": RUNTIME_SCHEMA},
                    "reference_id": PAYLOAD_ID,
                    "codec": {"enum": sorted(bounds.CODECS)},
                    "size_bytes": whole(0),
                    "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
                }
            ),
        }
    ),
    "NewRun": {
        "type": "object",
        "properties": {
            "workflow_id": ID,
            "run_id": {**_REFERENCE, "description": "Made by the server if it is missing."},
            "workflow_type": _REFERENCE,
            "task_queue": _REFERENCE,
            "duplicate_policy": {"enum": ["fail", "use-existing", None]},
        },
        "required": ["workflow_id"],
    },
    "Run": record(
        {
            "workflow_id": ID,
            "run_id": ID,
            "namespace": TEXT,
            "workflow_type": _REFERENCE,
            "task_queue": _REFERENCE,
            "status": {"enum": ["running", "completed"]},
            "registered": {"type": "boolean"},
            "started_at": INSTANT,
            "closed_at": _optional(INSTANT),
        },
        {"outcome": {"enum": ["started_new", "returned_existing_active"]}},
    ),
}
