"""A path is taken apart first, and each id in it is decoded once."""

import json

import pytest
from tests.workflow.http.api import VERSION, Api, a_run, a_stream, said

ITEM = {"items": [{"payload": 1}]}


@pytest.mark.parametrize(
    ("segment", "identity"),
    [
        ("wf%2F1", "wf/1"),
        ("wf%252F1", "wf%2F1"),
        ("a%20b", "a b"),
        ("a+b", "a+b"),
        ("%2e%2e", ".."),
        ("%C3%A9%f0%9f%8c%8a", "é🌊"),
        ("%3Fx%3D1%23", "?x=1#"),
        ("runs", "runs"),
        ("%77f", "wf"),
    ],
)
def test_an_id_is_one_segment_decoded_once(api: Api, segment: str, identity: str) -> None:
    run = f"/api/workflows/{segment}/runs/{segment}%2F{a_run().rpartition('-')[2]}"

    answer = raw(api, "POST", f"{run}/streams/s/items", json.dumps(ITEM).encode())

    assert answer[0] == 200
    assert answer[1]["workflow_id"] == identity
    assert answer[1]["workflow_run_id"].startswith(f"{identity}/")


@pytest.mark.parametrize("segment", ["%ff", "%00", "a%00b", "%0a", "%7f", "%C2%85", "%ed%a0%80", "x" * 192])
@pytest.mark.parametrize("place", ["workflow_id", "run_id"])
def test_an_id_that_none_can_be_is_refused_by_name(api: Api, segment: str, place: str) -> None:
    ids = {"workflow_id": "wf", "run_id": a_run().rpartition("/")[2], place: segment}
    stream = f"/api/workflows/{ids['workflow_id']}/runs/{ids['run_id']}/streams/s"

    for method, path, body in (("POST", f"{stream}/items", json.dumps(ITEM).encode()), ("GET", stream, b"")):
        status, answer = raw(api, method, path, body)
        assert (status, answer["reason"]) == (422, "validation_failed")
        assert list(answer["errors"]) == [place]
        assert answer["errors"] == answer["validation_errors"]


def test_an_id_may_have_191_characters_of_any_size(api: Api) -> None:
    for identity in ("x" * 191, "%F0%9F%8C%8A" * 191):
        run = f"/api/workflows/{identity}/runs/{identity}"
        assert raw(api, "POST", f"{run}/streams/s/items", json.dumps(ITEM).encode())[0] == 200


@pytest.mark.parametrize("name", ["a", "Z9", "a" * 191, "a.b_c:d-e", "0"])
def test_a_name_of_a_stream(api: Api, name: str) -> None:
    assert api.post(f"{a_run()}/streams/{name}/items", ITEM).json()["stream"]["stream_name"] == name


@pytest.mark.parametrize(
    "name", [".a", "-a", "_a", ":a", "a" * 192, "a%2Fb", "a%20b", "%C3%A9", "%ff", "a%00", "a%0A", "a~"]
)
def test_what_is_no_name_of_a_stream(api: Api, name: str) -> None:
    stream = f"{a_run()}/streams/{name}"

    for method, path in (
        ("POST", "/items"), ("GET", "/items"), ("GET", ""), ("POST", "/close"), ("POST", "/lease"), ("GET", "/events"),
    ):  # fmt: skip
        status, answer = raw(api, method, stream + path, json.dumps(ITEM).encode() if method == "POST" else b"")
        assert (status, answer["reason"]) == (400, "invalid_stream_name")


@pytest.mark.parametrize(
    "path",
    [
        "/api/",
        "/api/nothing",
        "/api/workflows/",
        "/api/workflows//runs/r/streams",
        "/api/workflows/w/runs//streams",
        "/api/workflows/w/runs/r/streams/",
        "/api/workflows/w/runs/r/streams/s/",
        "/api/workflows/w/runs/r/streams/s/items/",
        "/api/workflows/w/runs/r/streams/s/items/0",
        "/api/workflows/w/run/r/streams",
        "/api/workflow%73/w",
        "/api/cluster/info/",
        "/api/worker/register",
    ],
)
def test_nothing_is_at_any_other_path(api: Api, path: str) -> None:
    status, answer = raw(api, "GET", path)

    assert (status, answer["reason"]) == (404, "not_found")
    assert answer["message"]


def test_a_method_that_is_not_possible_is_told_with_those_that_are(api: Api) -> None:
    stream = a_stream()
    for method, path, allowed in (
        ("DELETE", f"{stream}/items", "GET, POST"),
        ("PUT", f"{stream}/close", "POST"),
        ("PATCH", stream, "GET"),
        ("POST", "/api/cluster/info", "GET"),
        ("PUT", stream.removesuffix("/streams/tokens"), "GET, DELETE"),
        ("OPTIONS", stream, "GET"),
    ):
        answer = api.ask(method, path)
        assert said(answer) == (405, "method_not_allowed")
        assert answer.headers["allow"] == allowed
    assert api.ask("HEAD", stream).status_code == 405


def raw(api: Api, method: str, path: str, body: bytes = b"") -> tuple[int, dict[str, object]]:
    """Send a path as it is, which clients like to tidy up."""
    head = (
        f"{method} {path} HTTP/1.1\r\nhost: localhost\r\n{VERSION}: 2\r\nconnection: close\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    answer = api.server.ask(head.encode() + body)
    top, _, rest = answer.partition(b"\r\n\r\n")
    return int(top.split()[1]), json.loads(rest)
