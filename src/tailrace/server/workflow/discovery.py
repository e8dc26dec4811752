"""``GET /api/cluster/info``: what this server is and can do, for clients that ask before they send anything."""

import functools
import importlib.metadata
from collections.abc import Mapping
from typing import Any

from tailrace.server.response import Response
from tailrace.server.workflow.call import Call
from tailrace.server.workflow.contract import CAPABILITY, KEY, contract
from tailrace.server.workflow.refusals import VERSION, json_answer
from tailrace.workflow.payloads.transport import discovery as storage


async def info(call: Call) -> Response:
    """Answer with what is the same for everybody, and with the namespace that is asked for, if it exists."""
    shared = call.shared
    limits = {"max_request_bytes": shared.max_request, "max_payload_bytes": shared.max_request}
    content: dict[str, Any] = {**_fixed(shared.max_request), "limits": limits}
    if call.namespace in shared.namespaces:
        content["namespace"] = {"name": call.namespace}
        payloads = shared.service.payloads
        if payloads.takes_uploads:
            content["namespace"]["external_payload_storage"] = storage(payloads.settings)
            # No protocol is served, so it has no version. Clients look here before they refer to what they have stored
            # themselves, and ask whether they may only if this is true.
            content["worker_protocol"] = {"server_capabilities": {"runtime_external_payload_transport": True}}
    return json_answer(content)


@functools.cache
def _fixed(max_request_bytes: int) -> Mapping[str, Any]:
    return {
        "server": {"name": "tailrace", "version": importlib.metadata.version("tailrace")},
        "capabilities": {CAPABILITY: True, "workflow_tasks": False},
        "control_plane": {
            "version": VERSION,
            "request_contract": {"schema": "durable-workflow.v2.control-plane-request.contract", "version": 1},
        },
        KEY: contract(max_request_bytes),
    }
