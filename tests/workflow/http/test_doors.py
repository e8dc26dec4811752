"""What stands before all routes stands before ``/api`` too, and answers there as everything there does."""

import sys
from pathlib import Path

import httpx
import pytest
from tests.http.doors.serving import served
from tests.http.exchange import scope_of
from tests.workflow.http.api import VERSION, Api, a_stream, said, serving

from tailrace.errors import InvalidArgumentError, StoreUnusableError
from tailrace.server import ServerSettings
from tailrace.server.configuration import Access, Workflow, build
from tailrace.server.environment import workflow_from
from tailrace.server.request import path_of
from tailrace.tokens import KeyRing
from tailrace.workflow.payloads.settings import PayloadSettings

APP = "https://app.example.org"


@pytest.mark.parametrize(
    ("method", "headers", "expected"),
    [
        ("GET", {"host": "evil.example"}, (400, "bad_host")),
        ("GET", {"x-forwarded-for": "192.0.2.1"}, (403, "proxied_without_auth")),
        ("POST", {"origin": "https://evil.example"}, (403, "bad_origin")),
        ("GET", {f"x-{number}": "x" for number in range(120)}, (431, "headers_too_large")),
    ],
)
def test_a_request_that_may_not_pass(api: Api, method: str, headers: dict[str, str], expected: tuple[int, str]) -> None:
    assert said(api.ask(method, f"{a_stream()}/items", headers)) == expected


def test_a_namespace_is_named_once(api: Api) -> None:
    twice = [("x-namespace", "default"), ("x-namespace", "other"), (VERSION, "2")]

    answer = httpx.get(f"{api.server.url}{a_stream()}", headers=twice)

    assert said(answer) == (400, "invalid_request")


def test_a_path_that_is_too_long(api: Api) -> None:
    assert said(api.get(f"{a_stream()}/items?from={'0' * 9000}")) == (414, "uri_too_long")


def test_a_configured_page_may_send_the_headers_of_the_contract(tmp_path: Path) -> None:
    with served(f"sqlite:///{tmp_path}/runs.db", origins=[APP]) as server:
        with httpx.Client(base_url=server.url, headers={"origin": APP}) as page:
            wanted = f"x-namespace, {VERSION}, content-type"
            asked = {"access-control-request-method": "POST", "access-control-request-headers": wanted}
            assert page.options(f"{a_stream()}/items", headers=asked).status_code == 200
            answer = page.get(a_stream(), headers={VERSION: "2"})
            assert answer.json()["reason"] == "instance_not_found"
            assert VERSION in answer.headers["access-control-expose-headers"].lower()


def test_by_default_it_is_served_where_the_store_is_a_database(tmp_path: Path) -> None:
    with served("memory://") as server:
        answer = httpx.get(f"{server.url}/api/cluster/info")
        assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")
    with serving(tmp_path, workflow=Workflow(streams=False)) as api:
        assert api.get("/api/cluster/info").status_code == 404
    with serving(tmp_path) as api:
        assert api.get("/api/cluster/info").status_code == 200


def test_it_can_not_be_served_from_what_is_no_database() -> None:
    with pytest.raises(InvalidArgumentError, match="need a database"):
        build("memory://", KeyRing.new(), Access(), settings=ServerSettings(), workflow=Workflow(streams=True))


def test_payloads_have_no_storage_where_streams_are_not_served(tmp_path: Path) -> None:
    workflow = Workflow(payload_store=tmp_path.as_uri())
    with pytest.raises(InvalidArgumentError, match="payloads"):
        build("memory://", KeyRing.new(), Access(), settings=ServerSettings(), workflow=workflow)


def test_a_storage_whose_extra_is_not_installed_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    monkeypatch.delitem(sys.modules, "tailrace.workflow.payloads.s3", raising=False)
    workflow = Workflow(payload_store="s3://bucket")
    with pytest.raises(StoreUnusableError, match=r"tailrace\[s3\]"):
        build(f"sqlite:///{tmp_path}/s", KeyRing.new(), Access(), settings=ServerSettings(), workflow=workflow)


@pytest.mark.parametrize("name", ["", " a", "a\n", "é", "x" * 129])
def test_a_namespace_that_none_can_be(name: str) -> None:
    with pytest.raises(InvalidArgumentError, match="namespace"):
        Workflow(namespaces=(name,))


def test_without_a_namespace_there_are_no_runs() -> None:
    with pytest.raises(InvalidArgumentError, match="namespace"):
        build("memory://", KeyRing.new(), Access(), settings=ServerSettings(), workflow=Workflow(namespaces=()))


@pytest.mark.parametrize(
    ("given", "workflow"),
    [
        ({}, Workflow()),
        ({"TAILRACE_WORKFLOW_STREAMS": "on"}, Workflow(streams=True)),
        ({"TAILRACE_WORKFLOW_STREAMS": "off", "TAILRACE_RUNS": "implicit"}, Workflow(streams=False)),
        (
            {"TAILRACE_NAMESPACES": "a b", "TAILRACE_RUNS": "registered"},
            Workflow(namespaces=["a", "b"], registered=True),
        ),
        (
            {
                "TAILRACE_PAYLOAD_STORE": "file:///p",
                "TAILRACE_PAYLOAD_THRESHOLD": "1KiB",
                "TAILRACE_PAYLOAD_MAX": "2kB",
            },
            Workflow(payload_store="file:///p", payloads=PayloadSettings(threshold_bytes=1024, max_payload_bytes=2000)),
        ),
    ],
)
def test_the_environment_says_what_is_served(given: dict[str, str], workflow: Workflow) -> None:
    assert workflow_from(given) == workflow


@pytest.mark.parametrize(
    "name", ["TAILRACE_WORKFLOW_STREAMS", "TAILRACE_RUNS", "TAILRACE_PAYLOAD_THRESHOLD", "TAILRACE_PAYLOAD_MAX"]
)
def test_the_environment_can_be_wrong(name: str) -> None:
    with pytest.raises(InvalidArgumentError, match=name):
        workflow_from({name: "yes"})


def test_a_path_that_a_server_has_decoded_is_not_decoded_again() -> None:
    scope = {**scope_of("/api/workflows/wf%2F1"), "raw_path": None}

    assert path_of(scope) == b"/api/workflows/wf%252F1"


def test_topics_are_served_beside_it(api: Api) -> None:
    with httpx.Client(base_url=api.server.url) as client:
        assert client.post("/v1/topics/t/records", content=b"x").status_code == 204
        assert client.get("/v1/topics/none").headers["content-type"] == "application/problem+json"
