"""The shapes of JSON that the routes take and give, as JSON Schema, for ``/openapi.json``. Data only."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from tailrace import limits
from tailrace.server.problems import KINDS
from tailrace.server.tickets import MAX_LIFETIME

Schema: TypeAlias = Mapping[str, Any]


def ref(name: str) -> Schema:
    """Return a reference to one of ``SCHEMAS``."""
    return {"$ref": f"#/components/schemas/{name}"}


def record(required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    """Return the schema of an object that has these fields and no others."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


TEXT: Schema = {"type": "string"}
SECONDS: Schema = {"type": "number", "description": "Seconds since the epoch."}
TOKEN: Schema = {
    "type": "string",
    "pattern": "^[A-Za-z0-9_-]{112}$",
    "description": "A resume token. Opaque: keep it and hand it back.",
}
TOPIC: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": limits.MAX_TOPIC_NAME_BYTES,
    "pattern": "^[^\\u0000]+$",
    "description": f"At most {limits.MAX_TOPIC_NAME_BYTES} bytes of UTF-8.",
}
REASON: Schema = {"type": ["string", "null"], "maxLength": limits.MAX_SEAL_ERROR_BYTES}

_SEAL: Schema = {"oneOf": [{"type": "null"}, record({"error": REASON})]}
EXPIRES_IN: Schema = {"type": "number", "minimum": 1, "maximum": MAX_LIFETIME, "default": 60}

SCHEMAS: Mapping[str, Schema] = {
    "Problem": {
        **record(
            {
                "type": {"enum": [f"urn:tailrace:problem:{name}" for name in KINDS]},
                "title": TEXT,
                "status": {"enum": sorted({kind.status for kind in KINDS.values()})},
                "detail": TEXT,
                "retryable": {"type": "boolean", "description": "The same request may succeed later."},
                "advice": {**TEXT, "description": "What to do now."},
            }
        ),
        "description": "RFC 9457. What each type means is in the reference.",
    },
    "Description": record(
        {"topic": TOPIC, "beginning": TOKEN, "tail": TOKEN, "seal": _SEAL},
        {
            "records": {"type": "integer", "minimum": 0},
            "bytes": {"type": "integer", "minimum": 0},
            "last_append_at": {"type": ["number", "null"]},
        },
    ),
    "Page": record(
        {
            "records": {"type": "array", "items": ref("Record")},
            "next": {**TOKEN, "description": "Where the next page begins."},
            "caught_up": {"type": "boolean", "description": "There was nothing more when the page was read."},
            "end": {
                "oneOf": [{"type": "null"}, record({"kind": {"enum": ["sealed", "failed"]}, "error": REASON})],
                "description": "Set once there will never be more.",
            },
        }
    ),
    "Record": record(
        {
            "token": TOKEN,
            "data": {"description": "Text, JSON, or base64, as encoding says."},
            "encoding": {"enum": ["text", "json", "base64"]},
        }
    ),
    "Token": record({"token": TOKEN}),
    "Checkpoint": record({}, {"cursor": {**TEXT, "description": "A cursor of the library, to be made a token."}}),
    "Seal": record({}, {"error": {**REASON, "description": "Ends the topic as failed."}}),
    "TicketRequest": {
        "oneOf": [
            record({"topic": TOPIC}, {"expires_in": EXPIRES_IN}),
            record({"prefix": {**TOPIC, "minLength": 0, "pattern": "^[^\\u0000]*$"}}, {"expires_in": EXPIRES_IN}),
        ]
    },
    "Ticket": record({"ticket": {**TEXT, "pattern": "^tkt_"}, "expires_at": SECONDS}),
    "Status": record({"status": {"enum": ["alive", "ready"]}}),
}
