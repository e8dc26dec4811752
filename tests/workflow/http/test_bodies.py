"""Bodies: what is JSON and what is not, and that a payload comes back byte for byte."""

import json
from collections.abc import Iterator

import httpx
import pytest
from tests.workflow.http.api import Api, a_stream, said

LIMIT = 2 * 2**20

PAYLOADS = [
    b"null",
    b"0",
    b"-0",
    b"-0.0",
    b"1e400",
    b"1E-400",
    b"1.0000000000000000000000000001",
    b"9" * 5000,
    b'"\\ud800"',
    b'"\\udc00\\ud800 \\ud83c\\udf0a"',
    b'"\\u0041\\/\\b\\u0000"',
    '"é\U0001f30a\u2028"'.encode(),
    b'{"a":1,"a":2,"a":{"a":1,"a":2}}',
    b'{"":{}}',
    b'{ "a" :\t[ 1 ,\r\n 2 ] }',
    b'{"blob":"x","codec":"none"}',
    b'"payload\\":\\"],}"',
    b'"' + b"x" * 100_000 + b'"',
    b"[" * 512 + b"]" * 512,
    b'{"a":' * 512 + b"1" + b"}" * 512,
    b'["' + b"[" * 600 + b'"]',
    b'["\\"' + b"[" * 600 + b'"]',
    b'"' + b"[{" * 600 + b'"',
    b'"\\\\\\"' + b"]" * 600 + b"[" * 600 + b'"',
]


@pytest.mark.parametrize("payload", PAYLOADS, ids=lambda payload: repr(payload[:30]))
def test_a_payload_is_returned_byte_for_byte(api: Api, payload: bytes) -> None:
    stream = a_stream()
    body = b'{"items":[{"payload": ' + payload + b' ,"idempotency_key":"k"}, {"payload":7}]}'

    sent = api.post_text(f"{stream}/items", body)

    assert sent.status_code == 200, sent.text
    answer = api.get(f"{stream}/items").content
    assert b'"payload":' + payload + b"}" in answer
    if len(payload) < 3000 and payload.count(b"[") < 500 and payload.count(b"{") < 500:
        assert json.loads(answer)["items"][1]["payload"] == 7
    assert api.post_text(f"{stream}/items", body).json()["deduped"] == 1


def test_of_members_that_are_there_twice_the_last_one_counts(api: Api) -> None:
    for half in (b"", b'"\\ud800",'):
        stream = a_stream()
        text = (
            b'{"items":[{"payload":'
            + (half or b"1,")
            + b'"payload":2,"p\\u0061yload":3}],"items":[{"payload":4},{"payload":5,"payload":6}]}'
        )
        assert api.post_text(f"{stream}/items", text).status_code == 200
        assert [item["payload"] for item in api.get(f"{stream}/items").json()["items"]] == [4, 6]


MALFORMED = [
    b"{",
    b"items",
    b"{'items':[]}",
    b'{"items":[{"payload":NaN}]}',
    b'{"items":[{"payload":-Infinity}]}',
    b'{"items":[{"payload":01}]}',
    b'{"items":[{"payload":1.}]}',
    b'{"items":[{"payload":"\x01"}]}',
    b'{"items":[{"payload":"\xff"}]}',
    b'{"items":[{"payload":"\xed\xa0\x80"}]}',
    b'{"items":[{"payload":"\\x41"}]}',
    b'{"items":[{"payload":[1,]}]}',
    b'{"items":[{"payload":1},]}',
    b'{"items":[{"payload":1}],}',
    b'{"items":[{"payload":1}]}{}',
    b'{"items":[{"payload":1}]}x',
    b'{"items":[{"payload" 1}]}',
    b'{"items":[{"payload":"\\ud800"}]}]',
    b'{"items":[{"payload":"\\ud800"},]}',
    b'{"items":[{"payload":"\\ud800",}]}',
    b'{"items":[{"payload":"\\ud800"} {}]}',
    b'{"items":[{"payload":"\\ud800", payload:1}]}',
    b'{"items":[{"payload":"\\ud800", "payload" 1}]}',
    b'{"items":[{"payload":1,"payload_reference":{"size":1e400}}]}',
    b"\xef\xbb\xbf{}",
    b"\x00",
    b" ",
    b"\xff\xfe{\x00}\x00",
    b'{"items":[{"payload":' + b"[" * 513 + b"]" * 513 + b"}]}",
    b'{"items":[{"payload":' + b"[" * 100_000 + b"]" * 100_000 + b"}]}",
    b'{"items":[{"payload":"\\ud800","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}]}",
]


@pytest.mark.parametrize("body", MALFORMED, ids=lambda body: repr(body[:40]))
def test_what_is_no_json_is_refused_and_nothing_is_stored(api: Api, body: bytes) -> None:
    stream = a_stream()

    answer = api.post_text(f"{stream}/items", body)

    assert said(answer) == (400, "malformed_json")
    assert answer.json()["json_error"]
    assert said(api.get(stream)) == (404, "instance_not_found")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b"", "items"),
        (b"{}", "items"),
        (b"[]", "body"),
        (b"null", "body"),
        (b'"items"', "body"),
        (b'{"items":null}', "items"),
        (b'{"items":[]}', "items"),
        (b'{"items":{}}', "items"),
        (b'{"items":"x"}', "items"),
        (b'{"items":[{},1,null]}', "items.1"),
        (
            b'{"items":[{"payload_reference":' + b'{"a":' * 512 + b"{}" + b"}" * 512 + b"}]}",
            "items.0.payload_reference",
        ),
        (b'{"items":[[]]}', "items.0"),
        (b'{"items":[' + b"{}," * 5000 + b'{"payload":"\\ud800"}]}', "items"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_json_of_another_form_is_told_by_the_field(api: Api, body: bytes, field: str) -> None:
    stream = a_stream()

    answer = api.post_text(f"{stream}/items", body)

    assert said(answer) == (422, "validation_failed")
    assert field in answer.json()["errors"]
    assert answer.json()["errors"] == answer.json()["validation_errors"]
    assert said(api.get(stream)) == (404, "instance_not_found")


@pytest.mark.parametrize("path", ["close", "lease"])
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"{", (400, "malformed_json")),
        (b"NaN", (400, "malformed_json")),
        (b"\xff", (400, "malformed_json")),
        (b'{"a":1e999}', (400, "malformed_json")),
        (b"[" * 100_000, (400, "malformed_json")),
        (b"[]", (422, "validation_failed")),
        (b"7", (422, "validation_failed")),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_other_bodies_are_objects_too(api: Api, path: str, body: bytes, expected: tuple[int, str]) -> None:
    stream = a_stream()
    api.post(f"{stream}/items", {"items": [{}]})

    assert said(api.post_text(f"{stream}/{path}", body)) == expected
    assert api.get(stream).json()["stream"]["status"] == "open"


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx", ""]
)
def test_a_body_of_another_media_type_is_refused(api: Api, kind: str) -> None:
    stream = a_stream()

    answer = api.ask("POST", f"{stream}/items", {"content-type": kind}, content=b'{"items":[{}]}')

    assert said(answer) == (415, "unsupported_media_type")
    assert answer.json()["accepted_content_types"] == ["application/json", "application/*+json"]
    assert said(api.get(stream)) == (404, "instance_not_found")


@pytest.mark.parametrize(
    "kind", ["application/json", "Application/JSON; charset=utf-8", "application/vnd.x+json", None]
)
def test_a_body_of_json_may_say_so_in_its_ways(api: Api, kind: str | None) -> None:
    answer = api.ask("POST", f"{a_stream()}/items", {"content-type": kind}, content=b'{"items":[{}]}')

    assert answer.status_code == 200


def _sized(size: int) -> bytes:
    frame = b'{"items":[{"payload":"%b"}]}'
    return frame % (b"x" * (size - len(frame) + 2))


def test_a_request_may_have_two_mebibytes_and_no_byte_more(api: Api) -> None:
    stream, other = a_stream(), a_stream()
    assert len(_sized(LIMIT)) == LIMIT

    assert api.post_text(f"{stream}/items", _sized(LIMIT)).status_code == 200
    answer = api.post_text(f"{other}/items", _sized(LIMIT + 1))

    assert said(answer) == (413, "payload_too_large")
    assert answer.json()["limit"] == LIMIT
    assert said(api.get(other)) == (404, "instance_not_found")


def test_a_request_that_does_not_say_its_size_is_bounded_too(api: Api) -> None:
    stream = a_stream()

    def parts(size: int) -> Iterator[bytes]:
        body = _sized(size)
        return (body[at : at + 65536] for at in range(0, len(body), 65536))

    assert api.post_text(f"{stream}/items", parts(LIMIT)).status_code == 200
    try:
        answer = api.post_text(f"{stream}/items", parts(LIMIT + 1))
    except httpx.TransportError:
        # It was answered, and hung up on, before it had sent everything.
        pass
    else:
        assert said(answer) == (413, "payload_too_large")
    assert api.get(stream).json()["stream"]["total_items"] == 1
