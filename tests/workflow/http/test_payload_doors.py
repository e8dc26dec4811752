"""Who may send and fetch payloads, and in what order that is found out; and servers that have no storage."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.workflow.http.api import VERSION, Api, a_stream, said
from tests.workflow.http.storing import Storing, announcing, external, storing

from tailrace.server.access import AccessKey, AccessKeys
from tailrace.server.configuration import Access
from tailrace.workflow.payloads.transport import PATH

SCOPES = {
    "operator": ["role:operator:default"],
    "admin": ["role:admin:*"],
    "worker": ["role:worker:default"],
    "everything": ["admin:*"],
    "topics": ["read:*", "append:*"],
}
WORKER_VERSION = "x-durable-workflow-protocol-version"
LIMIT = 100_000


@pytest.fixture(scope="module")
def keys() -> dict[str, tuple[str, AccessKey]]:
    return {name: AccessKey.fresh(name, scopes) for name, scopes in SCOPES.items()}


@pytest.fixture(scope="module")
def bearers(keys: dict[str, tuple[str, AccessKey]]) -> dict[str, str]:
    return {name: f"Bearer {text}" for name, (text, _) in keys.items()}


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory, keys: dict[str, tuple[str, AccessKey]]) -> Iterator[Storing]:
    folder: Path = tmp_path_factory.mktemp("doors")
    access = Access(keys=AccessKeys(key for _, key in keys.values()).text)
    with storing(folder, access=access, max_payload_bytes=LIMIT) as storage:
        yield storage


@pytest.mark.parametrize("name", ["operator", "admin", "everything", "worker"])
def test_every_role_may_send_and_fetch(at: Storing, bearers: dict[str, str], name: str) -> None:
    who = {"authorization": bearers[name]}
    sent = at.upload(name.encode(), who)

    assert sent.status_code == 201
    assert at.fetch(sent.json()["reference"], who).content == name.encode()


def test_a_worker_says_which_protocol_it_speaks(at: Storing, bearers: dict[str, str]) -> None:
    worker: dict[str, str | None] = {"authorization": bearers["worker"], VERSION: None, WORKER_VERSION: "1.20"}
    sent = at.upload(b"of a worker", worker)

    assert sent.status_code == 201
    assert at.fetch(sent.json()["reference"], worker).content == b"of a worker"
    assert said(at.upload(b"of a worker", {**worker, WORKER_VERSION: None})) == (400, "missing_control_plane_version")
    assert said(at.upload(b"of a worker", {**worker, VERSION: "3"})) == (400, "unsupported_control_plane_version")


def test_it_will_not_do_on_other_routes(at: Storing, bearers: dict[str, str]) -> None:
    headers = {"authorization": bearers["operator"], VERSION: None, WORKER_VERSION: "1.20"}

    assert said(at.api.ask("GET", a_stream(), headers)) == (400, "missing_control_plane_version")


def test_checks_come_in_the_order_of_all_other_routes(at: Storing, bearers: dict[str, str]) -> None:
    wrong: dict[str, str | None] = {
        "authorization": None,
        VERSION: None,
        "x-namespace": "none",
        "content-type": "text/plain",
    }
    assert said(at.upload(b"x" * (LIMIT + 1), wrong)) == (413, "external_payload_oversized")
    assert said(at.upload(b"x", wrong)) == (401, "unauthorized")
    refused = at.upload(b"x", {**wrong, "authorization": bearers["topics"]})
    assert said(refused) == (403, "forbidden")
    assert refused.json()["allowed_roles"] == ["admin", "operator", "worker"]
    wrong["authorization"] = bearers["admin"]
    assert said(at.upload(b"x", wrong)) == (400, "missing_control_plane_version")
    wrong[VERSION] = "2"
    assert said(at.upload(b"x", wrong)) == (404, "namespace_not_found")
    wrong["x-namespace"] = "default"
    assert said(at.upload(b"x", wrong)) == (415, "external_payload_unsupported")


def test_a_role_in_one_namespace_gives_nothing_in_another(at: Storing, bearers: dict[str, str]) -> None:
    headers = {"authorization": bearers["worker"], "x-namespace": "other"}

    assert said(at.upload(b"x", headers)) == (403, "forbidden")


def test_without_a_storage_nothing_can_be_sent_or_referred_to(api: Api) -> None:
    reference = {
        "schema": "durable-workflow.v2.runtime-external-payload-reference.v1",
        "reference_id": "ep_" + "0" * 26,
        "codec": "avro",
        "size_bytes": 1,
        "sha256": "0" * 64,
    }
    stream = a_stream()
    answers = [
        api.ask("POST", PATH, announcing(b"x"), content=b"x"),
        api.ask("GET", f"{PATH}/{reference['reference_id']}", announcing(b"x")),
        api.post(f"{stream}/items", {"items": [{"payload": external(reference)}]}),
    ]

    assert {said(answer) for answer in answers} == {(503, "external_payload_unavailable")}
    assert api.get(stream).status_code == 404
