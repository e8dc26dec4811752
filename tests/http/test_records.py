"""``records``: batches of lines in, pages out, and a read that waits."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.http.doors.serving import PATIENCE, Served, served
from tests.http.payloads import EVERY_BYTE, ODD

from tailrace import limits
from tailrace.server.call import MAX_JSON
from tailrace.testing.servers.waiting import until

NDJSON = {"content-type": "application/x-ndjson"}


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served() as running:
        yield running


@pytest.fixture
def topic(server: Served, client: httpx.Client) -> Iterator[str]:
    """The URL of a topic that does not exist yet."""
    url = f"{server.url}/v1/topics/t"
    yield url
    client.delete(url)


def outcomes(answer: httpx.Response) -> list[int]:
    return [json.loads(line)["status"] for line in answer.text.splitlines()]


def page(client: httpx.Client, topic: str, **query: object) -> dict[str, Any]:
    answer = client.get(f"{topic}/records", params={"start": "beginning", **query})
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found


def data(page: dict[str, Any]) -> list[object]:
    return [record["data"] for record in page["records"]]


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a\nb\n", ["a", "b"]),
        (b"a\nb", ["a", "b"]),
        (b"a\n\n\nb\n", ["a", "", "", "b"]),
        (b"a\r\nb\r\n", ["a\r", "b\r"]),
        (b"\xef\xbb\xbfa\n", ["\ufeffa"]),
    ],
)
def test_each_line_of_a_batch_is_a_record(topic: str, client: httpx.Client, body: bytes, lines: list[str]) -> None:
    answer = client.post(f"{topic}/records", content=body, headers=NDJSON)

    assert answer.status_code == 200
    assert outcomes(answer) == [201] * len(lines)
    assert data(page(client, topic)) == lines


def test_a_line_that_can_not_be_stored_is_refused_by_itself(topic: str, client: httpx.Client) -> None:
    answer = client.post(f"{topic}/records?encoding=base64", content=b"YQ==\nYg=\n{\n\nYw==", headers=NDJSON)

    assert answer.status_code == 207
    assert outcomes(answer) == [201, 400, 400, 201, 201]
    assert data(page(client, topic)) == ["a", "", "c"]


@pytest.mark.parametrize("line", [b"", b"ab"])
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_batch_has_as_many_lines_as_are_stored_at_once(
    topic: str, client: httpx.Client, line: bytes, end: bytes
) -> None:
    def post(count: int) -> httpx.Response:
        body = b"\n".join([line] * (count - 1) + [b"last"]) + end
        return client.post(f"{topic}/records", content=body, headers=NDJSON)

    refused = post(limits.MAX_APPEND_MANY + 1)
    assert refused.json()["type"].endswith(":too-large")
    assert client.get(topic).status_code == 404
    assert outcomes(post(limits.MAX_APPEND_MANY)) == [201] * limits.MAX_APPEND_MANY


AS_JSON = [
    b"null",
    b' {"a": [1, "\xc3\xa9"]}\n',
    b'{"a": 1, "a": 2}',
    b"1.00000000000000000000000000001",
    b"1e400",
    b"-1e-400",
    rb'"\ud800"',
    rb'"\u0000"',
    b"[" * 500 + b"]" * 500,
]
NO_JSON = [
    b"",
    b"NaN",
    b"[1, -Infinity]",
    b"\xef\xbb\xbf{}",
    '"a"'.encode("utf-16"),
    b"{",
    b"1" * 5000,
    b"[" * 100_000 + b"]" * 100_000,
]


def test_json_comes_out_as_it_went_in_and_anything_else_as_text_or_base64(topic: str, client: httpx.Client) -> None:
    for payload in [*AS_JSON, *NO_JSON]:
        client.post(f"{topic}/records", content=payload)

    answer = client.get(f"{topic}/records?start=beginning&payloads=json")

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    kinds = [record["encoding"] for record in answer.json()["records"]]
    assert kinds[: len(AS_JSON)] == ["json"] * len(AS_JSON)
    assert "json" not in kinds[len(AS_JSON) :]
    for payload in AS_JSON:
        assert b'"data": ' + payload + b', "encoding": "json"' in answer.content


@pytest.mark.parametrize("payloads", ["text", "base64"])
def test_any_payload_comes_out_of_a_page_byte_for_byte(topic: str, client: httpx.Client, payloads: str) -> None:
    for payload in ODD + EVERY_BYTE:
        client.post(f"{topic}/records", content=payload)

    records = page(client, topic, payloads=payloads)["records"]

    decoders = {"text": str.encode, "base64": base64.b64decode}
    assert [decoders[each["encoding"]](each["data"]) for each in records] == list(ODD + EVERY_BYTE)
    assert payloads == "text" or {record["encoding"] for record in records} == {"base64"}


def test_pages_follow_each_other_to_the_end(topic: str, client: httpx.Client) -> None:
    client.post(f"{topic}/records", content=b"1\n2\n3\n4\n5", headers=NDJSON)
    first = page(client, topic, limit=2)
    second = page(client, topic, limit=2, cursor=first["next"])
    third = page(client, topic, limit=2, cursor=second["records"][-1]["token"])
    assert [data(first), data(second), data(third)] == [["1", "2"], ["3", "4"], ["5"]]
    assert [each["caught_up"] for each in (first, second, third)] == [False, False, True]
    assert third["end"] is None

    client.post(f"{topic}/seal", json={"error": "broken"})

    last = page(client, topic, cursor=third["next"])
    assert (data(last), last["end"]) == ([], {"kind": "failed", "error": "broken"})


def test_a_client_that_vanishes_is_not_waited_for(server: Served, topic: str) -> None:
    live = server.application.service.live
    with server.connect() as waiting:
        waiting.sendall(b"GET /v1/topics/t/records?start=tail&wait=60 HTTP/1.1\r\nhost: localhost\r\n\r\n")
        until(lambda: live.count == 1, "the read waits")

    until(lambda: live.count == 0, "the read has ended", timeout=PATIENCE)
    assert server.application.service.engine.stats()["subscriptions"] == 0


def test_json_as_large_as_a_payload_is_refused(topic: str, client: httpx.Client) -> None:
    answer = client.post(
        f"{topic}/checkpoint", content=b"[" + b"[]," * MAX_JSON, headers={"content-type": "application/json"}
    )

    assert answer.json()["type"].endswith(":too-large")
