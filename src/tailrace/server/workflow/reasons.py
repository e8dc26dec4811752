"""The one table of what ``/api`` refuses: the reason on the wire, its status, and what a client does now. Data only."""

from collections.abc import Mapping
from typing import NamedTuple


class Reason(NamedTuple):
    """One row of the table.

    Attributes:
        also: Another status that the contract has for it.
    """

    status: int
    advice: str
    also: int | None = None


REASONS: Mapping[str, Reason] = {
    "invalid_request": Reason(400, "Correct the request: its query, or what the message names."),
    "invalid_stream_name": Reason(400, "Use letters, digits, `.`, `_`, `:` and `-`, 191 at most, no sign first."),
    "malformed_json": Reason(400, "Send JSON; `json_error` says what was wrong."),
    "missing_control_plane_version": Reason(400, "Send the header, with `supported_version`."),
    "unsupported_control_plane_version": Reason(400, "Send `supported_version`."),
    "bad_token": Reason(400, "Start anew, with `from`."),
    "bad_host": Reason(400, "Use a host name that this server is configured for."),
    "unauthorized": Reason(401, "Send a key or a bearer token that is valid."),
    "forbidden": Reason(403, "Ask for a credential with one of `allowed_roles` in this namespace."),
    "bad_origin": Reason(403, "Add the origin to those that this server is configured for."),
    "proxied_without_auth": Reason(403, "Configure authentication before you put a proxy in front."),
    "not_found": Reason(404, "Check the path; every route is in /openapi.json."),
    "namespace_not_found": Reason(404, "Use a namespace that this server is configured for."),
    "instance_not_found": Reason(404, "Check the ids and the namespace; register the run where that is required."),
    "stream_not_found": Reason(404, "Wait for the first append; if the stream has expired it never comes back."),
    "method_not_allowed": Reason(405, "Use a method that the header Allow names."),
    "request_timeout": Reason(408, "Send the request faster; nothing was stored."),
    "stream_closed": Reason(409, "Stop appending: the stream is closed."),
    "stream_errored": Reason(409, "Stop appending: the stream has ended with an error."),
    "idempotency_conflict": Reason(409, "Give each item a key of its own: this one was used with another payload."),
    "instance_already_started": Reason(409, "Use another id, or `duplicate_policy` `use-existing`."),
    "external_payload_held": Reason(409, "Try again once the hold on the namespace has ended; a backup has placed it."),
    "external_payload_not_found": Reason(404, "Upload the payload; one that was deleted does not come back."),
    "external_payload_expired": Reason(410, "Upload it again, and refer to it sooner."),
    "external_payload_oversized": Reason(413, "Send at most `limit` bytes; nothing was stored."),
    "external_payload_unsupported": Reason(
        422, "Correct the reference or the headers. Status 415: upload it as application/octet-stream.", also=415
    ),
    "external_payload_integrity_mismatch": Reason(
        422, "Compare the bytes with size and SHA-256: one of them is wrong. Nothing was stored."
    ),
    "external_payload_exhausted": Reason(429, "Wait until streams that refer to payloads have expired."),
    "external_payload_unavailable": Reason(503, "The storage of payloads is away; nothing was stored. Try again."),
    "gone": Reason(410, "Start anew, with `from`."),
    "payload_too_large": Reason(413, "Send at most `limit` bytes; nothing was stored."),
    "uri_too_long": Reason(414, "Shorten the URL."),
    "unsupported_media_type": Reason(415, "Send one of `accepted_content_types`."),
    "validation_failed": Reason(422, "Correct the fields in `errors`; nothing was stored."),
    "stream_full": Reason(429, "Send the batch again once somebody has read: nothing of it was stored."),
    "headers_too_large": Reason(431, "Send fewer or smaller headers."),
    "server_error": Reason(500, "Tell the operator: the log has the cause. The outcome is unknown."),
    "overloaded": Reason(503, "Come back after the time in Retry-After."),
    "unavailable": Reason(503, "The store is away; nothing was stored. Try again."),
    "unknown_outcome": Reason(503, "It may have been stored. Send items that have keys again; else read first."),
    "unusable_store": Reason(503, "Tell the operator: the store needs repair. Nothing was stored."),
}  # fmt: skip
