"""Discovery says what is true: the sections of the contract, and bounds that are those that are kept."""

from pathlib import Path
from typing import Any

import pytest
from tests.workflow.http.api import VERSION, Api, a_stream, said, serving
from tests.workflow.http.storing import storing

from tailrace.server import ServerSettings
from tailrace.server.workflow.reasons import REASONS
from tailrace.server.workflow.routes import ROUTES

SECTIONS = {
    "addressing", "wire_surface", "lifecycle_statuses", "item_origin_kinds", "ordering_guarantees",
    "durability_guarantees", "workflow_authoring", "backpressure_semantics", "retention", "observability_surface",
    "rejections", "out_of_scope",
}  # fmt: skip


@pytest.fixture(scope="module")
def info(api: Api) -> Any:
    return api.get("/api/cluster/info", headers={VERSION: None}).json()


@pytest.fixture(scope="module")
def contract(info: Any) -> Any:
    return info["workflow_streams_contract"]


def test_it_has_every_section_of_the_contract(info: Any, contract: Any) -> None:
    assert info["capabilities"]["workflow_streams"] is True
    assert (contract["schema"], contract["version"]) == ("durable-workflow.v2.workflow-streams.contract", 1)
    assert SECTIONS - contract.keys() == set()
    assert all(contract[section] for section in SECTIONS)
    assert info["control_plane"]["version"] == "2"


def test_the_bounds_that_it_publishes_are_those_that_are_kept(api: Api, contract: Any, info: Any) -> None:
    most = contract["backpressure_semantics"]
    stream = a_stream()

    def status(method: str, path: str, **body: object) -> int:
        return int((api.post(path, body) if body else api.ask(method, path)).status_code)

    def items(count: int, **more: object) -> dict[str, object]:
        return {"items": [{}] * count, **more}

    cap, batch = most["max_pending_items_per_stream_max"], most["max_items_per_append_max"]
    assert [status("POST", f"{stream}/items", **items(1, max_pending_items=cap + n)) for n in (0, 1)] == [200, 422]
    assert [status("POST", f"{stream}/items", **items(batch + n)) for n in (0, 1)] == [200, 422]
    page, wait = most["max_items_per_subscribe_max"], most["wait_seconds_max"]
    assert [status("GET", f"{stream}/items?max_items={page + n}") for n in (0, 1)] == [200, 422]
    assert [status("GET", f"{stream}/items?wait_seconds={wait + n}") for n in (0, 1)] == [200, 422]
    kept = contract["retention"]["retention_seconds_max"]
    assert [status("POST", f"{stream}/close", retention_seconds=kept + n) for n in (1, 0)] == [422, 200]
    name = contract["addressing"]["stream_name_max_length"]
    run = stream.rpartition("/")[0]
    assert [status("POST", f"{run}/{'x' * (name + n)}/items", **items(1)) for n in (0, 1)] == [200, 400]
    assert info["limits"]["max_request_bytes"] == 2 * 2**20


def test_a_server_that_takes_less_in_a_request_says_so_wherever_it_does(tmp_path: Path) -> None:
    with serving(tmp_path, settings=ServerSettings(max_body=100_000)) as api:
        info = api.get("/api/cluster/info").json()

    assert info["limits"]["max_request_bytes"] == 100_000
    assert info["workflow_streams_contract"]["sdk_implementation_notes"]["request_bytes_max"] == 100_000


def test_the_defaults_that_it_publishes_are_those_that_hold(api: Api, contract: Any) -> None:
    stream = a_stream()
    for _ in range(2):
        api.post(f"{stream}/items", {"items": [{}] * 100})

    page = api.get(f"{stream}/items").json()

    assert len(page["items"]) == contract["backpressure_semantics"]["max_items_per_subscribe_default"]
    assert page["items"][0]["offset"] == contract["ordering_guarantees"]["first_offset"]
    closed = api.post(f"{stream}/close").json()["stream"]
    assert closed["retention_seconds"] == contract["retention"]["closed_stream_default_retention_seconds"]
    assert set(contract["observability_surface"]["fields"]) == set(closed)


def test_the_routes_and_reasons_that_it_names_are_there(contract: Any) -> None:
    names = {"workflowId": "workflow_id", "runId": "run_id", "streamName": "stream_name"}
    for surface in contract["wire_surface"].values():
        method, path = surface.split()
        for public, ours in names.items():
            path = path.replace(f"{{{public}}}", f"{{{ours}}}")
        assert method in ROUTES[path]
    assert set(contract["rejections"].values()) <= REASONS.keys()


def test_the_namespace_is_told_if_there_is_one_of_that_name(api: Api, info: Any) -> None:
    assert info["namespace"]["name"] == "default"
    # Without storage for payloads, a client sends everything inline.
    assert "external_payload_storage" not in info["namespace"]
    other = api.get("/api/cluster/info", headers={VERSION: None, "x-namespace": "none"})
    assert other.status_code == 200
    assert "namespace" not in other.json()


def test_a_storage_of_payloads_is_told_where_the_published_client_looks(tmp_path: Path) -> None:
    with storing(tmp_path, threshold_bytes=10, max_payload_bytes=20, request_timeout=5.0) as at:
        told = at.api.get("/api/cluster/info", headers={VERSION: None}).json()
        elsewhere = at.api.get("/api/cluster/info", headers={VERSION: None, "x-namespace": "none"}).json()

    assert told["namespace"]["external_payload_storage"] == {
        "status": "available",
        "threshold_bytes": 10,
        "transport": {
            "schema": "durable-workflow.v2.runtime-external-payload-transport.v1",
            "version": 1,
            "reference_schema": "durable-workflow.v2.runtime-external-payload-reference.v1",
            "mode": "authenticated_namespace_runtime",
            "upload": {"method": "POST", "path": "/api/external-payloads/v1"},
            "fetch": {"method": "GET", "path_template": "/api/external-payloads/v1/{referenceId}"},
            "limits": {"max_payload_bytes": 20, "request_timeout_seconds": 5.0},
        },
        "direct_provider_adapters": {"capability_negotiated": True, "enabled": True},
    }
    assert told["worker_protocol"] == {"server_capabilities": {"runtime_external_payload_transport": True}}
    assert "namespace" not in elsewhere
    assert "worker_protocol" not in elsewhere


def test_a_worker_learns_that_there_are_no_tasks_here(api: Api, info: Any) -> None:
    assert "worker_protocol" not in info
    assert said(api.post("/api/worker/register", {})) == (404, "not_found")
