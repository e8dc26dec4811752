"""Runs over HTTP: implied by an append, or registered."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.workflow.http.api import Api, a_run, said, serving

from tailrace.server.configuration import Workflow

RUN_KEYS = {
    "workflow_id", "run_id", "namespace", "workflow_type", "task_queue", "status", "registered", "started_at",
    "closed_at",
}  # fmt: skip


@pytest.fixture(scope="module")
def registered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    folder: Path = tmp_path_factory.mktemp("registered")
    with serving(folder, workflow=Workflow(registered=True)) as api:
        yield api


def test_a_run_is_registered_with_what_it_is(api: Api) -> None:
    asked = {"workflow_id": "orders/1", "run_id": "r-1", "workflow_type": "order", "task_queue": "q"}

    answer = api.post("/api/workflows", {**asked, "input": {"codec": "avro", "blob": ""}})

    assert answer.status_code == 201
    told = answer.json()
    assert set(told) == RUN_KEYS | {"outcome"}
    assert told.pop("outcome") == "started_new"
    assert {name: told[name] for name in asked} == asked
    assert (told["status"], told["registered"], told["closed_at"]) == ("running", True, None)
    assert api.get("/api/workflows/orders%2F1").json() == told
    assert api.get("/api/workflows/orders%2F1/runs/r-1").json() == told


def test_a_run_without_an_id_gets_one(api: Api) -> None:
    ids = [api.post("/api/workflows", {"workflow_id": f"unnamed-{number}"}).json()["run_id"] for number in range(2)]

    assert all(re.fullmatch("[0-9A-HJKMNP-TV-Z]{26}", each) for each in ids)
    assert ids[0] != ids[1]


def test_a_workflow_has_one_run_that_goes_on(api: Api) -> None:
    first = api.post("/api/workflows", {"workflow_id": "once"}).json()

    assert said(api.post("/api/workflows", {"workflow_id": "once"})) == (409, "instance_already_started")
    used = api.post("/api/workflows", {"workflow_id": "once", "duplicate_policy": "use-existing"})
    assert (used.status_code, used.json()["run_id"]) == (201, first["run_id"])
    assert used.json()["outcome"] == "returned_existing_active"

    path = f"/api/workflows/once/runs/{first['run_id']}"
    ended = api.post(f"{path}/end").json()
    assert (ended["status"], api.post(f"{path}/end").json()) == ("completed", ended)
    again = {"workflow_id": "once", "run_id": first["run_id"], "duplicate_policy": "use-existing"}
    assert said(api.post("/api/workflows", again)) == (409, "instance_already_started")
    second = api.post("/api/workflows", {"workflow_id": "once"}).json()
    assert api.get("/api/workflows/once").json()["run_id"] == second["run_id"]


def test_the_run_that_goes_on_is_used_whichever_runs_appends_have_begun_since(api: Api) -> None:
    first = api.post("/api/workflows", {"workflow_id": "beside"}).json()["run_id"]
    implied = "/api/workflows/beside/runs/implied"
    assert api.post(f"{implied}/streams/s/items", {"items": [{}]}).status_code == 200
    asked = {"workflow_id": "beside", "duplicate_policy": "use-existing"}

    assert api.post("/api/workflows", asked).json()["run_id"] == first
    api.post(f"{implied}/end")
    assert api.post("/api/workflows", asked).json()["run_id"] == first

    api.post(f"/api/workflows/beside/runs/{first}/end")
    other = "/api/workflows/beside/runs/another"
    assert api.post(f"{other}/streams/s/items", {"items": [{}]}).status_code == 200
    used = api.post("/api/workflows", {**asked, "run_id": "another"}).json()
    assert (used["run_id"], used["outcome"], used["registered"]) == ("another", "returned_existing_active", False)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "workflow_id"),
        ({"workflow_id": ""}, "workflow_id"),
        ({"workflow_id": "x" * 192}, "workflow_id"),
        ({"workflow_id": "a\n"}, "workflow_id"),
        ({"workflow_id": 1}, "workflow_id"),
        ({"workflow_id": "w", "run_id": "x" * 192}, "run_id"),
        ({"workflow_id": "w", "run_id": []}, "run_id"),
        ({"workflow_id": "w", "workflow_type": "x" * 192}, "workflow_type"),
        ({"workflow_id": "w", "task_queue": {}}, "task_queue"),
        ({"workflow_id": "w", "duplicate_policy": "reject"}, "duplicate_policy"),
        ({"workflow_id": "w", "duplicate_policy": []}, "duplicate_policy"),
    ],
    ids=repr,
)
def test_what_a_run_can_not_be_started_with(api: Api, body: dict[str, object], field: str) -> None:
    answer = api.post("/api/workflows", body)

    assert said(answer) == (422, "validation_failed")
    assert list(answer.json()["errors"]) == [field]
    assert said(api.get("/api/workflows/w")) == (404, "instance_not_found")


def test_a_run_may_have_ids_of_191_characters(api: Api) -> None:
    long = dict.fromkeys(("workflow_id", "run_id", "workflow_type", "task_queue"), "x" * 191)

    assert api.post("/api/workflows", long).status_code == 201


def test_an_append_implies_a_run(api: Api) -> None:
    run = a_run()
    api.post(f"{run}/streams/s/items", {"items": [{}]})

    told = api.get(run).json()

    assert set(told) == RUN_KEYS
    assert (told["registered"], told["status"], told["workflow_type"]) == (False, "running", None)


def test_where_runs_are_registered_an_append_implies_none(registered: Api) -> None:
    items = {"items": [{}]}

    refused = registered.post("/api/workflows/w/runs/r/streams/s/items", items)
    registered.post("/api/workflows", {"workflow_id": "w", "run_id": "r"})

    assert said(refused) == (404, "instance_not_found")
    assert registered.get("/api/workflows/w/runs/r/streams").json()["count"] == 0
    assert registered.post("/api/workflows/w/runs/r/streams/s/items", items).status_code == 200


def test_a_deleted_run_takes_its_streams_with_it(api: Api) -> None:
    run = a_run()
    api.post(f"{run}/streams/s/items", {"items": [{}]})

    deleted = api.ask("DELETE", run)

    assert (deleted.status_code, deleted.content) == (204, b"")
    assert said(api.get(f"{run}/streams/s")) == (404, "instance_not_found")
    assert said(api.ask("DELETE", run)) == (404, "instance_not_found")
    assert api.post(f"{run}/streams/s/items", {"items": [{}]}).json()["accepted_offsets"] == [0]


def test_the_streams_of_a_run_that_has_ended_stay_as_they_are(api: Api) -> None:
    run = a_run()
    api.post(f"{run}/streams/s/items", {"items": [{}]})
    api.post(f"{run}/end")

    assert api.get(f"{run}/streams/s").json()["stream"]["status"] == "open"
