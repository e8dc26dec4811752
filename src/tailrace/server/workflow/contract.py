"""What ``GET /api/cluster/info`` says of Workflow Streams: the contract's sections, as they are true here. Data only.

The words with underscores are the contract's own, for programs; the sentences are for people.
"""

from collections.abc import Mapping
from typing import Any

from tailrace.workflow import bounds
from tailrace.workflow.model import Origin, Status

KEY = "workflow_streams_contract"
CAPABILITY = "workflow_streams"

_STREAMS = "/api/workflows/{workflowId}/runs/{runId}/streams"
_STREAM = f"{_STREAMS}/{{streamName}}"

_OPERATIONS = ["list", "describe", "subscribe", "append", "close", "error"]


def contract(max_request_bytes: int) -> Mapping[str, Any]:
    """Return the contract, of a server that takes so many bytes in a request."""
    return {
        "schema": "durable-workflow.v2.workflow-streams.contract",
        "version": 1,
        "authority_document": "docs/reference/workflow-http.md",
        "cluster_info_key": KEY,
        "capability_flag": CAPABILITY,
        "parity_target": {
            "name": "Workflow Streams",
            "description": "Named output logs of workflow runs, read by offset, kept for a while after their end.",
            "underlying_primitives": ["durable_stream_item"],
        },
        "addressing": {
            "workflow_id_field": "workflow_id",
            "workflow_run_id_field": "workflow_run_id",
            "stream_name_field": "stream_name",
            "stream_name_max_length": bounds.MAX_ID_CHARS,
            "stream_name_pattern": "^[A-Za-z0-9][A-Za-z0-9._:-]{0,190}$",
            "stream_name_comparison": "byte_for_byte",
            "item_offset_field": "offset",
            "idempotency_field": "idempotency_key",
            "origin_field": "origin",
            "origin_reference_field": "origin_reference",
        },
        "wire_surface": {
            "list_streams": f"GET {_STREAMS}",
            "describe_stream": f"GET {_STREAM}",
            "subscribe": f"GET {_STREAM}/items",
            "append": f"POST {_STREAM}/items",
            "close": f"POST {_STREAM}/close",
            "events": f"GET {_STREAM}/events",
            "lease": f"POST {_STREAM}/lease",
        },
        "lifecycle_statuses": [status.value for status in Status],
        "item_origin_kinds": [origin.value for origin in Origin],
        "ordering_guarantees": {
            "per_stream_order": "monotonically_increasing_offset",
            "cross_stream_order": "undefined",
            "append_atomicity": "each_append_request_is_a_single_transaction_with_ordered_offsets",
            "duplicate_handling": "idempotency_key_dedupes_within_stream",
            "first_offset": 0,
            "offsets": "dense",
        },
        "durability_guarantees": {
            "persistence": "every_appended_item_is_persisted_before_the_response_returns",
            "restart_survival": "subscriber_reconnects_with_from_offset_to_resume_without_loss",
            "at_least_once_to_consumer": "consumer_must_track_its_own_offset_and_be_idempotent_on_replay",
            "at_most_once_to_durable_record": "idempotency_key_collapses_retried_appends_to_one_offset",
            "changed_payload_of_a_key": "idempotency_conflict",
        },
        "workflow_authoring": {"supported": False},
        "message_stream_relationship": {
            "service_mode_direction": "workflow_output_only",
            "service_mode_inbound_workflow_messaging": False,
            "service_mode_continue_as_new_cursor_transfer": False,
            "offset_origins": {"service_workflow_stream": 0},
        },
        "first_party_sdk_support": {
            "python": {
                "operations": _OPERATIONS,
                "workflow_authoring": False,
                "external_payload_references": "opaque-reference",
            },
        },
        "backpressure_semantics": {
            "slow_consumer": "producer_is_unaffected_until_pending_items_exceeds_max_pending_items_per_stream",
            "producer_throttle_outcome": (
                "append_returns_429_with_reason_stream_full_when_pending_items_threshold_exceeded"
            ),
            "refused_batch": "nothing_is_stored",
            "consumer_long_poll": "subscribe_with_wait_seconds_blocks_up_to_the_requested_window_for_new_items",
            "consumer_wake_up": "by_the_append",
            "wait_seconds_max": bounds.MAX_WAIT_SECONDS,
            "wait_seconds_default": 0,
            "max_items_per_subscribe_max": bounds.MAX_ITEMS,
            "max_items_per_subscribe_default": bounds.DEFAULT_PAGE_ITEMS,
            "max_items_per_append_max": bounds.MAX_ITEMS,
            "max_pending_items_per_stream_default": bounds.MAX_PENDING_ITEMS,
            "max_pending_items_per_stream_max": bounds.MAX_PENDING_ITEMS,
        },
        "retention": {
            "open_stream": "kept_until_close",
            "closed_stream_default_retention_seconds": bounds.DEFAULT_RETENTION_SECONDS,
            "errored_stream_default_retention_seconds": bounds.DEFAULT_RETENTION_SECONDS,
            "retention_override_field": "retention_seconds",
            "retention_seconds_max": bounds.MAX_RETENTION_SECONDS,
            "expired_stream": "stream_not_found_until_the_run_is_deleted",
        },
        "observability_surface": {
            "list_streams_route": f"GET {_STREAMS}",
            "fields": [
                "stream_name", "status", "last_offset", "total_items", "pending_items", "opened_at", "last_appended_at",
                "closed_at", "error_reason", "retention_seconds",
            ],
            "history_event_emitted": False,
        },
        "rejections": {
            "unknown_run": "instance_not_found",
            "unknown_stream": "stream_not_found",
            "closed_stream_append": "stream_closed",
            "errored_stream_append": "stream_errored",
            "pending_items_exceeded": "stream_full",
            "changed_payload_of_a_key": "idempotency_conflict",
            "invalid_stream_name": "invalid_stream_name",
            "invalid_offset": "validation_failed",
            "item_too_large": "payload_too_large",
        },
        "sdk_implementation_notes": {
            "producer_should": "give every item a key that a retry of the same work derives again",
            "consumer_should": "store next_offset after the effects of a page, and take a repeated page in its stride",
            "retries": "a refused append has stored nothing and can be sent again as it is",
            "request_bytes_max": max_request_bytes,
        },
        "out_of_scope": {
            "generalized_pubsub": "a stream belongs to one run; topics that do not are below /v1",
            "workflow_execution": "runs are registered or implied here, and executed elsewhere",
            "tail_compaction": "an item is kept as long as its stream",
        },
    }  # fmt: skip
