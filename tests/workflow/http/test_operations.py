"""The six operations over HTTP: their answers, key by key."""

import re
from typing import Any

import pytest
from tests.workflow.http.api import Api, a_run, a_stream, said

STREAM_KEYS = {
    "stream_name", "status", "last_offset", "total_items", "pending_items", "opened_at", "last_appended_at",
    "closed_at", "error_reason", "retention_seconds",
}  # fmt: skip
ITEM_KEYS = {
    "offset", "idempotency_key", "origin", "origin_reference", "item_type", "content_type", "payload",
    "payload_reference", "payload_codec", "emitted_at",
}  # fmt: skip
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


def append(api: Api, stream: str, *payloads: object, **more: object) -> Any:
    answer = api.post(f"{stream}/items", {"items": [{"payload": payload} for payload in payloads], **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_first_append_opens_a_stream_and_says_where_its_items_are(api: Api) -> None:
    answer = append(api, "/api/workflows/w/runs/opens/streams/tokens", {"a": 1}, {"a": 2})

    assert set(answer) == {
        "workflow_id", "workflow_run_id", "stream", "accepted_offsets", "accepted", "deduped",
    }  # fmt: skip
    assert (answer["workflow_id"], answer["workflow_run_id"]) == ("w", "opens")
    assert (answer["accepted_offsets"], answer["accepted"], answer["deduped"]) == ([0, 1], 2, 0)
    stream = answer["stream"]
    assert set(stream) == STREAM_KEYS
    assert (stream["stream_name"], stream["status"], stream["last_offset"]) == ("tokens", "open", 1)
    assert (stream["total_items"], stream["pending_items"]) == (2, 2)
    assert INSTANT.fullmatch(stream["opened_at"])
    assert INSTANT.fullmatch(stream["last_appended_at"])
    assert [stream[name] for name in ("closed_at", "error_reason", "retention_seconds")] == [None] * 3


def test_a_key_that_was_there_gets_its_old_offset(api: Api) -> None:
    stream = a_stream()
    first = {"items": [{"payload": 1, "idempotency_key": "a"}, {"payload": 2, "idempotency_key": "b"}]}
    assert api.post(f"{stream}/items", first).json()["accepted_offsets"] == [0, 1]

    again = api.post(f"{stream}/items", {"items": [*first["items"], {"payload": 3, "idempotency_key": "c"}]}).json()

    assert (again["accepted_offsets"], again["accepted"], again["deduped"]) == ([0, 1, 2], 1, 2)
    assert again["stream"]["total_items"] == 3


def test_an_item_has_all_ten_keys_null_where_nothing_was_said(api: Api) -> None:
    stream = a_stream()
    full = {
        "payload": {"x": [1]}, "payload_reference": "s3://b/k", "payload_codec": "avro", "idempotency_key": "k",
        "origin": "external", "origin_reference": "o", "item_type": "t", "content_type": "text/plain",
    }  # fmt: skip
    assert api.post(f"{stream}/items", {"items": [{}, full]}).status_code == 200

    bare, given = api.get(f"{stream}/items").json()["items"]

    assert set(bare) == set(given) == ITEM_KEYS
    assert INSTANT.fullmatch(bare.pop("emitted_at"))
    assert bare == {
        "offset": 0,
        "origin": "workflow_command",
        **dict.fromkeys(ITEM_KEYS - {"offset", "origin", "emitted_at"}),
    }
    assert {name: given[name] for name in full} == full
    assert given["offset"] == 1


def test_a_page_says_where_to_go_on_and_when_nothing_will_follow(api: Api) -> None:
    stream = a_stream()
    append(api, stream, *range(5))

    first = api.get(f"{stream}/items?from=1&max_items=2").json()
    assert [item["offset"] for item in first["items"]] == [1, 2]
    assert (first["next_offset"], first["terminal"]) == (3, False)
    assert set(first) == {"workflow_id", "workflow_run_id", "stream", "items", "next_offset", "terminal"}
    beyond = api.get(f"{stream}/items?from=99").json()
    assert (beyond["items"], beyond["next_offset"], beyond["terminal"]) == ([], 99, False)

    assert api.post(f"{stream}/close").status_code == 200
    rest = api.get(f"{stream}/items?from=3").json()
    assert ([item["offset"] for item in rest["items"]], rest["next_offset"], rest["terminal"]) == ([3, 4], 5, True)
    assert api.get(f"{stream}/items?from=0&max_items=4").json()["terminal"] is False


def test_a_delivery_up_to_the_head_drains_what_is_pending_and_no_other_does(api: Api) -> None:
    stream = a_stream()
    append(api, stream, 0, 1, 2)

    assert api.get(f"{stream}/items?max_items=2").json()["stream"]["pending_items"] == 3
    assert api.get(f"{stream}/items?from=3").json()["stream"]["pending_items"] == 3
    assert api.get(f"{stream}/items?from=2").json()["stream"]["pending_items"] == 0
    assert api.get(stream).json()["stream"]["pending_items"] == 0


def test_the_first_end_stands(api: Api) -> None:
    stream = a_stream()
    append(api, stream, 1)

    ended = api.post(f"{stream}/close", {"error_reason": "out of tokens", "retention_seconds": 60}).json()
    again = api.post(f"{stream}/close", {"retention_seconds": 5}).json()

    assert ended == again
    assert set(ended) == {"workflow_id", "workflow_run_id", "stream"}
    stream_now = ended["stream"]
    assert (stream_now["status"], stream_now["error_reason"]) == ("errored", "out of tokens")
    assert stream_now["retention_seconds"] == 60
    assert INSTANT.fullmatch(stream_now["closed_at"])


def test_a_close_without_a_body_keeps_the_stream_for_an_hour(api: Api) -> None:
    stream = a_stream()
    append(api, stream, 1)

    closed = api.ask("POST", f"{stream}/close").json()["stream"]

    assert (closed["status"], closed["error_reason"], closed["retention_seconds"]) == ("closed", None, 3600)


def test_a_list_is_in_the_order_of_names_byte_for_byte(api: Api) -> None:
    run = a_run()
    for name in ("tok", "a", "Tok", "a.b", "a:b", "a-b"):
        append(api, f"{run}/streams/{name}", name)

    answer = api.get(f"{run}/streams").json()

    assert [each["stream_name"] for each in answer["streams"]] == ["Tok", "a", "a-b", "a.b", "a:b", "tok"]
    assert answer["count"] == 6
    assert all(set(each) == STREAM_KEYS for each in answer["streams"])
    assert api.get(f"{run}/streams/Tok").json()["stream"] == answer["streams"][0]


def test_what_is_not_there_is_told_by_the_reason(api: Api) -> None:
    run, stream = a_run(), a_stream()
    append(api, stream, 1)
    other = f"{stream.rpartition('/')[0]}/other"

    for path in (run, f"{run}/streams", f"{run}/streams/tokens", f"{run}/streams/tokens/items"):
        assert said(api.get(path)) == (404, "instance_not_found")
    assert said(api.post(f"{run}/streams/tokens/close")) == (404, "instance_not_found")
    assert said(api.get(stream.replace("/wf/", "/another/"))) == (404, "instance_not_found")
    assert said(api.get(other)) == (404, "stream_not_found")
    # Nobody waits for a stream to be opened.
    assert said(api.get(f"{other}/items?wait_seconds=60")) == (404, "stream_not_found")
    assert said(api.post(f"{other}/close")) == (404, "stream_not_found")
    assert said(api.post(f"{other}/lease", {"lease_seconds": 5})) == (404, "stream_not_found")


@pytest.mark.parametrize(("end", "reason"), [({}, "stream_closed"), ({"error_reason": "x"}, "stream_errored")])
def test_after_the_end_only_retries_are_answered(api: Api, end: dict[str, object], reason: str) -> None:
    stream = a_stream()
    keyed = {"items": [{"payload": 1, "idempotency_key": "a"}]}
    api.post(f"{stream}/items", keyed)
    api.post(f"{stream}/close", end)

    assert said(api.post(f"{stream}/items", {"items": [{"payload": 2}]})) == (409, reason)
    assert said(api.post(f"{stream}/lease", {"lease_seconds": 5})) == (409, reason)
    assert api.post(f"{stream}/items", keyed).json()["deduped"] == 1


def test_a_batch_over_the_cap_is_refused_whole_and_can_be_sent_again(api: Api) -> None:
    stream = a_stream()
    append(api, stream, 0, 1, max_pending_items=3)

    answer = api.post(f"{stream}/items", {"items": [{}, {}], "max_pending_items": 3})

    assert said(answer) == (429, "stream_full")
    assert (answer.json()["pending_items"], answer.json()["max_pending_items"]) == (2, 3)
    assert api.get(stream).json()["stream"]["total_items"] == 2
    api.get(f"{stream}/items")
    assert append(api, stream, 2, 3, max_pending_items=3)["accepted_offsets"] == [2, 3]


def test_a_key_with_another_payload_is_a_conflict_and_nothing_is_stored(api: Api) -> None:
    stream = a_stream()
    api.post(f"{stream}/items", {"items": [{"payload": 1, "idempotency_key": "a"}]})

    answer = api.post(f"{stream}/items", {"items": [{"payload": 9}, {"payload": 2, "idempotency_key": "a"}]})

    assert said(answer) == (409, "idempotency_conflict")
    assert api.get(stream).json()["stream"]["total_items"] == 1


def test_a_lease_is_a_sign_of_life(api: Api) -> None:
    stream = a_stream()
    append(api, stream, 1, lease_seconds=60)

    answer = api.post(f"{stream}/lease", {"lease_seconds": 120})

    assert answer.status_code == 200
    assert answer.json()["stream"]["status"] == "open"
