"""Every bound over HTTP: the last value that is taken, and the first one that is not, after which nothing is stored."""

from typing import Any

import pytest
from tests.workflow.http.api import Api, a_stream, said

from tailrace.workflow.payloads import Digest, RuntimeReference

REFERENCE = RuntimeReference.to("default", Digest.of(b"never uploaded")).document


def refused(answer: Any, *fields: str) -> bool:
    """Return whether just these fields were told to be wrong."""
    assert said(answer) == (422, "validation_failed")
    body = answer.json()
    assert body["errors"] == body["validation_errors"]
    assert all(isinstance(text, str) for texts in body["errors"].values() for text in texts)
    return set(body["errors"]) == set(fields)


ITEM_BOUNDS = [
    ("idempotency_key", "k" * 191, "k" * 192),
    ("idempotency_key", "\U0001f30a" * 191, "\U0001f30a" * 192),
    ("idempotency_key", "", 5),
    ("idempotency_key", None, "a\n"),
    ("idempotency_key", "a b", "a\u0000"),
    ("idempotency_key", "é", "\ud800"),
    ("origin", "o" * 64, "o" * 65),
    ("origin", None, ""),
    ("origin", "signal_handler", []),
    ("origin_reference", "r" * 191, "r" * 192),
    ("origin_reference", "", {}),
    ("item_type", "t" * 64, "t" * 65),
    ("item_type", "", 1),
    ("content_type", "c" * 191, "c" * 192),
    ("content_type", None, True),
    ("payload_reference", "s" * 191, "s" * 192),
    ("payload_reference", None, 7),
    ("payload_reference", "", []),
    ("payload_codec", "avro", "json"),
    ("payload_codec", None, "a" * 65),
    ("payload_codec", None, ""),
    ("payload_codec", None, []),
    ("payload_codec", None, "Avro"),
]


@pytest.mark.parametrize(("field", "last", "beyond"), ITEM_BOUNDS, ids=lambda value: repr(value)[:20])
def test_a_field_of_an_item(api: Api, field: str, last: object, beyond: object) -> None:
    stream = a_stream()

    def items(value: object) -> dict[str, object]:
        return {"items": [{"payload": 1}, {"payload": 2, field: value}]}

    assert refused(api.post(f"{stream}/items", items(beyond)), f"items.1.{field}")
    assert said(api.get(stream)) == (404, "instance_not_found")
    assert api.post(f"{stream}/items", items(last)).status_code == 200
    assert refused(api.post(f"{stream}/items", items(beyond)), f"items.1.{field}")
    assert api.get(stream).json()["stream"]["total_items"] == 2


def test_an_unknown_codec_says_what_the_published_clients_look_for(api: Api) -> None:
    answer = api.post(f"{a_stream()}/items", {"items": [{"payload_codec": "json"}]})

    text = answer.json()["errors"]["items.0.payload_codec"][0]
    assert "unsupported_payload_codec" in text
    assert "HTTP document transport" in text


def test_everything_that_is_wrong_is_told_at_once(api: Api) -> None:
    body = {"items": [{"item_type": 1, "origin": ""}, {"payload_codec": "x"}], "max_pending_items": 0}

    assert refused(
        api.post(f"{a_stream()}/items", body),
        "items.0.item_type", "items.0.origin", "items.1.payload_codec", "max_pending_items",
    )  # fmt: skip


def test_there_may_be_500_items(api: Api) -> None:
    stream = a_stream()

    assert refused(api.post(f"{stream}/items", {"items": [{}] * 501}), "items")
    assert said(api.get(stream)) == (404, "instance_not_found")
    assert api.post(f"{stream}/items", {"items": [{}] * 500}).json()["accepted"] == 500


@pytest.mark.parametrize("cap", [0, -1, 10_001, 2**63, 1.5, 1.0, "5", True, [], {}])
def test_a_cap_that_is_none(api: Api, cap: object) -> None:
    stream = a_stream()

    assert refused(api.post(f"{stream}/items", {"items": [{}], "max_pending_items": cap}), "max_pending_items")
    assert said(api.get(stream)) == (404, "instance_not_found")


@pytest.mark.parametrize("cap", [1, 10_000, None])
def test_a_cap_that_is_one(api: Api, cap: object) -> None:
    assert api.post(f"{a_stream()}/items", {"items": [{}], "max_pending_items": cap}).status_code == 200


def test_a_producer_can_lower_the_cap_and_never_raise_it(api: Api) -> None:
    stream = a_stream()
    for _ in range(20):
        api.post(f"{stream}/items", {"items": [{}] * 500})

    full = api.post(f"{stream}/items", {"items": [{}], "max_pending_items": 10_000})

    assert said(full) == (429, "stream_full")
    assert (full.json()["pending_items"], full.json()["max_pending_items"]) == (10_000, 10_000)
    assert said(api.post(f"{stream}/items", {"items": [{}]})) == (429, "stream_full")


@pytest.mark.parametrize("seconds", [0, 86_401, "60", 1.5, False])
def test_a_lease_that_is_none(api: Api, seconds: object) -> None:
    stream, field = a_stream(), "lease_seconds"

    assert refused(api.post(f"{stream}/items", {"items": [{}], field: seconds}), field)
    assert said(api.get(stream)) == (404, "instance_not_found")
    api.post(f"{stream}/items", {"items": [{}]})
    assert refused(api.post(f"{stream}/lease", {field: seconds}), field)
    assert refused(api.post(f"{stream}/lease"), field)


@pytest.mark.parametrize("seconds", [1, 86_400])
def test_a_lease_that_is_one(api: Api, seconds: int) -> None:
    stream = a_stream()

    assert api.post(f"{stream}/items", {"items": [{}], "lease_seconds": seconds}).status_code == 200
    assert api.post(f"{stream}/lease", {"lease_seconds": seconds}).status_code == 200


END_BOUNDS = [
    ("error_reason", "r" * 191, "r" * 192),
    ("error_reason", "two\nlines\tof it", "a\u0000b"),
    ("error_reason", "r", ""),
    ("error_reason", None, 1),
    ("error_reason", "\U0001f30a" * 191, "\udc00"),
    ("retention_seconds", 1, 0),
    ("retention_seconds", 2_592_000, 2_592_001),
    ("retention_seconds", None, -1),
    ("retention_seconds", None, 1.5),
    ("retention_seconds", None, "60"),
    ("retention_seconds", None, True),
]


@pytest.mark.parametrize(("field", "last", "beyond"), END_BOUNDS, ids=lambda value: repr(value)[:20])
def test_a_field_of_an_end(api: Api, field: str, last: object, beyond: object) -> None:
    stream = a_stream()
    api.post(f"{stream}/items", {"items": [{}]})

    assert refused(api.post(f"{stream}/close", {field: beyond}), field)
    assert api.get(stream).json()["stream"]["status"] == "open"
    ended = api.post(f"{stream}/close", {field: last}).json()["stream"]
    assert ended["status"] == ("errored" if field == "error_reason" and last else "closed")
    assert ended[field] == (3600 if field == "retention_seconds" and last is None else last)


PAGE_BOUNDS = [
    ("from", ["0", "1", "9223372036854775808", "1" * 300], ["-1", "1" * 301, "1.0", "", "a", "1e3", "٣"]),
    ("max_items", ["1", "500"], ["0", "501", "-1", "", "1.5", "true"]),
    ("wait_seconds", ["0", "60"], ["-1", "61", "0.5", "", "1s"]),
]


@pytest.mark.parametrize(("field", "good", "bad"), PAGE_BOUNDS, ids=lambda value: str(value)[:12])
def test_a_parameter_of_a_page(api: Api, field: str, good: list[str], bad: list[str]) -> None:
    stream = a_stream()
    api.post(f"{stream}/items", {"items": [{}] * 2})
    api.post(f"{stream}/close")

    for value in good:
        assert api.ask("GET", f"{stream}/items", params={field: value}).status_code == 200
    for value in bad:
        assert refused(api.ask("GET", f"{stream}/items", params={field: value}), field)
    assert api.get(stream).json()["stream"]["pending_items"] == 0


def test_a_page_far_behind_the_head_gives_back_where_it_was_asked_for(api: Api) -> None:
    stream = a_stream()
    api.post(f"{stream}/items", {"items": [{}]})

    assert api.get(f"{stream}/items?from={2**70}").json()["next_offset"] == 2**70
    assert said(api.get(f"{stream}/events?from={2**70}")) == (422, "validation_failed")


def test_a_parameter_that_is_given_twice_or_is_no_text_is_refused(api: Api) -> None:
    stream = a_stream()

    assert said(api.get(f"{stream}/items?from=0&from=1")) == (400, "invalid_request")
    assert said(api.get(f"{stream}/items?from=%ff")) == (400, "invalid_request")


def test_a_reference_may_be_an_object_and_one_of_the_runtime_needs_a_storage(api: Api) -> None:
    stream = a_stream()
    another = {"schema": "somebody.elses.v1", "id": 7}

    assert api.post(f"{stream}/items", {"items": [{"payload_reference": another}]}).status_code == 200
    assert api.get(f"{stream}/items").json()["items"][0]["payload_reference"] == another

    for reference in (REFERENCE, REFERENCE["reference_id"]):
        refused = api.post(f"{stream}/items", {"items": [{}, {"payload_reference": reference}]})
        assert said(refused) == (503, "external_payload_unavailable")
        assert (refused.json()["item"], refused.json()["retryable"]) == (1, True)
    assert api.get(stream).json()["stream"]["total_items"] == 1


def test_a_reference_of_the_runtime_is_exactly_that(api: Api) -> None:
    refused = api.post(f"{a_stream()}/items", {"items": [{"payload_reference": {**REFERENCE, "codec": "json"}}]})

    assert said(refused) == (422, "external_payload_unsupported")
