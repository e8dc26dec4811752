"""The checks before a handler come in one order, so that nobody learns more than they may."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.workflow.http.api import VERSION, Api, a_stream, said, serving

from tailrace.server.access import AccessKey, AccessKeys
from tailrace.server.configuration import Access, Workflow

LIMIT = 2 * 2**20
SCOPES = {
    "operator": ["role:operator:*"],
    "admin": ["role:admin:*"],
    "everything": ["admin:*"],
    "worker": ["role:worker:*"],
    "topics": ["read:*", "append:*", "seal:*"],
    "team-a": ["role:operator:team-a"],
    "teams": ["role:operator:team-*"],
}


@pytest.fixture(scope="module")
def keys() -> dict[str, tuple[str, AccessKey]]:
    return {name: AccessKey.fresh(name, scopes) for name, scopes in SCOPES.items()}


@pytest.fixture(scope="module")
def bearers(keys: dict[str, tuple[str, AccessKey]]) -> dict[str, str]:
    return {name: f"Bearer {text}" for name, (text, _) in keys.items()}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory, keys: dict[str, tuple[str, AccessKey]]) -> Iterator[Api]:
    folder: Path = tmp_path_factory.mktemp("roles")
    access = Access(keys=AccessKeys(key for _, key in keys.values()).text)
    workflow = Workflow(namespaces=("default", "Team-A", "team-b"))
    with serving(folder, access=access, workflow=workflow) as api:
        yield api


def test_size_comes_before_who_asks(api: Api) -> None:
    answer = api.post_text(f"{a_stream()}/items", b" " * (LIMIT + 1))

    assert said(answer) == (413, "payload_too_large")
    assert answer.json()["limit"] == LIMIT


def test_who_asks_comes_before_the_role(api: Api) -> None:
    wrong = {VERSION: None, "x-namespace": "none"}
    for authorization in (None, "Bearer trk_no", "Basic YTpi"):
        answer = api.ask("GET", a_stream(), {**wrong, "authorization": authorization})
        assert said(answer) == (401, "unauthorized")
        assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(("name", "role"), [("worker", "worker"), ("topics", None), ("team-a", None)])
def test_the_role_comes_before_the_version_and_the_namespace(
    api: Api, bearers: dict[str, str], name: str, role: str | None
) -> None:
    answer = api.ask("GET", a_stream(), {"authorization": bearers[name], VERSION: None, "x-namespace": "none"})

    assert said(answer) == (403, "forbidden")
    assert answer.json()["role"] == role
    assert answer.json()["allowed_roles"] == ["admin", "operator"]


def test_the_version_comes_before_the_namespace(api: Api, bearers: dict[str, str]) -> None:
    headers = {"authorization": bearers["operator"], "x-namespace": "none"}

    missing = api.ask("GET", a_stream(), {**headers, VERSION: None})
    other = api.ask("GET", a_stream(), {**headers, VERSION: "3"})

    assert said(missing) == (400, "missing_control_plane_version")
    assert said(other) == (400, "unsupported_control_plane_version")
    assert missing.json()["supported_version"] == other.json()["supported_version"] == "2"
    assert (missing.json()["requested_version"], other.json()["requested_version"]) == (None, "3")


def test_the_namespace_comes_before_the_handler(api: Api, bearers: dict[str, str]) -> None:
    headers = {"authorization": bearers["operator"], "x-namespace": "none"}

    assert said(api.ask("POST", f"{a_stream()}/items", headers, content=b"{")) == (404, "namespace_not_found")


@pytest.mark.parametrize("name", ["operator", "admin", "everything"])
def test_operators_and_admins_may_use_streams(api: Api, bearers: dict[str, str], name: str) -> None:
    headers = {"authorization": bearers[name]}
    stream = a_stream()

    assert api.ask("POST", f"{stream}/items", headers, json={"items": [{}]}).status_code == 200
    assert api.ask("GET", f"{stream}/items", headers).json()["next_offset"] == 1


def test_a_role_may_be_for_some_namespaces_and_no_other(api: Api, bearers: dict[str, str]) -> None:
    stream = a_stream()

    def status(name: str, namespace: str) -> int:
        headers = {"authorization": bearers[name], "x-namespace": namespace}
        return int(api.ask("POST", f"{stream}/items", headers, json={"items": [{}]}).status_code)

    assert [status("team-a", each) for each in ("team-a", "TEAM-A", "team-b", "default")] == [200, 200, 403, 403]
    assert [status("teams", each) for each in ("team-a", "team-b", "default", "team-none")] == [200, 200, 403, 404]


def test_namespaces_have_runs_of_their_own(api: Api, bearers: dict[str, str]) -> None:
    stream = a_stream()
    headers = {"authorization": bearers["operator"]}
    api.ask("POST", f"{stream}/items", {**headers, "x-namespace": "team-a"}, json={"items": [{}]})

    assert said(api.ask("GET", stream, {**headers, "x-namespace": "team-b"})) == (404, "instance_not_found")
    assert said(api.ask("GET", stream, headers)) == (404, "instance_not_found")
    assert api.ask("GET", stream, {**headers, "x-namespace": "Team-A"}).status_code == 200


def test_removing_a_run_needs_an_admin(api: Api, bearers: dict[str, str]) -> None:
    stream = a_stream()
    run = stream.removesuffix("/streams/tokens")
    api.ask("POST", f"{stream}/items", {"authorization": bearers["operator"]}, json={"items": [{}]})

    refused = api.ask("DELETE", run, {"authorization": bearers["operator"]})

    assert said(refused) == (403, "forbidden")
    assert (refused.json()["role"], refused.json()["allowed_roles"]) == ("operator", ["admin"])
    assert api.ask("DELETE", run, {"authorization": bearers["admin"]}).status_code == 204


@pytest.mark.parametrize("name", ["worker", "topics", "operator"])
def test_discovery_is_for_everybody_who_is_let_in(api: Api, bearers: dict[str, str], name: str) -> None:
    headers = {"authorization": bearers[name], VERSION: None, "x-namespace": "none"}

    assert api.ask("GET", "/api/cluster/info", headers).status_code == 200
    assert said(api.ask("GET", "/api/cluster/info", {VERSION: None})) == (401, "unauthorized")


def test_a_role_gives_no_right_on_topics(api: Api, bearers: dict[str, str]) -> None:
    answer = api.ask("GET", "/v1/topics/t", {"authorization": bearers["admin"]})

    assert answer.status_code == 403
    assert answer.headers["content-type"] == "application/problem+json"
