"""A stream as Server-Sent Events: from an offset or an id, to the end, with the documents of items as data."""

import asyncio
import json
from pathlib import Path

import pytest
from tests.http.exchange import resting
from tests.http.reader import Reader
from tests.workflow.http.api import Api, a_stream, said, serving, until

from tailrace.errors import DurableStreamUnavailableError
from tailrace.opening import open_backend
from tailrace.server import Application
from tailrace.tokens import KeyRing
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.model import NewItem, Run


def reader(api: Api, stream: str, last_id: str | None = None, query: str = "") -> Reader:
    return Reader(api.server.port, f"{stream}/events{query}", last_id)


def append(api: Api, stream: str, *payloads: object) -> None:
    assert api.post(f"{stream}/items", {"items": [{"payload": each} for each in payloads]}).status_code == 200


def offsets(seen: Reader) -> list[int]:
    return [json.loads(payload)["offset"] for payload in seen.payloads]


def test_a_stream_is_sent_from_its_beginning_to_its_end(api: Api) -> None:
    stream = a_stream()
    append(api, stream, "a", "b")
    with reader(api, stream) as seen:
        seen.until_records(2)
        append(api, stream, "c")
        seen.until_records(3)
        api.post(f"{stream}/close")
        seen.to_end()

    assert [json.loads(payload)["payload"] for payload in seen.payloads] == ["a", "b", "c"]
    assert offsets(seen) == [0, 1, 2]
    assert seen.events[-1].type == "end"
    assert json.loads(seen.events[-1].data) == {"kind": "sealed", "error": None}
    # An id that says so: a browser that comes back with it is told to stay away.
    with reader(api, stream, seen.last_id) as again:
        again.to_end()
        assert again.response.status == 204


def test_the_data_of_an_event_is_the_item_as_a_page_has_it(api: Api) -> None:
    stream = a_stream()
    api.post_text(f"{stream}/items", b'{"items":[{"payload":{"a":1,"a":1e400}},{"payload":[1,\r2]}]}')
    page = api.get(f"{stream}/items").content
    with reader(api, stream) as seen:
        first, second = seen.until_records(2)

    assert b'"items":[' + first + b"," + second + b"]," in page
    # A carriage return would be lost in text.
    assert seen.events[-1].type == "base64"


def test_a_stream_that_errored_says_why(api: Api) -> None:
    stream = a_stream()
    append(api, stream, 1)
    api.post(f"{stream}/close", {"error_reason": "out of\nluck"})
    with reader(api, stream) as seen:
        seen.to_end()

    assert json.loads(seen.events[-1].data) == {"kind": "failed", "error": "out of\nluck"}


def test_a_reader_goes_on_after_the_id_that_it_saw_last(api: Api) -> None:
    stream = a_stream()
    append(api, stream, *range(5))
    with reader(api, stream) as seen:
        seen.until(lambda seen: len(seen.payloads) >= 1)
        ids = [event.id for event in seen.events]
    with reader(api, stream, ids[0], "?from=4") as again:
        again.until_records(4)

    assert offsets(again) == [1, 2, 3, 4]
    with reader(api, stream, None, f"?cursor={ids[0]}") as again:
        again.until_records(4)
    assert offsets(again) == [1, 2, 3, 4]


def test_a_reader_begins_at_the_offset_that_it_names(api: Api) -> None:
    stream = a_stream()
    append(api, stream, *range(3))
    append(api, stream, *range(2))
    for offset in (0, 1, 3, 4):
        with reader(api, stream, None, f"?from={offset}") as seen:
            seen.until_records(5 - offset)
        assert offsets(seen) == list(range(offset, 5))
    with reader(api, stream, None, "?from=5") as seen:
        seen.until(lambda seen: seen.last_id != "")
        append(api, stream, "next")
        seen.until_records(1)
    assert offsets(seen) == [5]


def test_an_offset_beyond_the_next_item_is_refused(api: Api) -> None:
    stream = a_stream()
    append(api, stream, 1, 2)

    answer = api.get(f"{stream}/events?from=3")

    assert said(answer) == (422, "validation_failed")
    assert list(answer.json()["errors"]) == ["from"]
    assert said(api.get(f"{stream}/events?from=-1")) == (422, "validation_failed")


def test_what_is_not_there_is_told_by_a_status(api: Api) -> None:
    stream, other = a_stream(), a_stream()
    append(api, other, 1)

    assert said(api.get(f"{stream}/events")) == (404, "instance_not_found")
    assert said(api.get(f"{other}x/events")) == (404, "stream_not_found")
    assert said(api.ask("GET", f"{other}/events", {"last-event-id": "x"})) == (400, "bad_token")


def test_an_id_is_good_for_its_stream_only(api: Api) -> None:
    stream, other = a_stream(), a_stream()
    append(api, stream, 1)
    append(api, other, 1)
    with reader(api, stream) as seen:
        seen.until_records(1)

    assert said(api.ask("GET", f"{other}/events", {"last-event-id": seen.last_id})) == (400, "bad_token")


def test_it_needs_no_header_of_ours_and_takes_the_namespace_from_the_query(api: Api) -> None:
    stream = a_stream()
    append(api, stream, 1)
    with reader(api, stream, None, "?namespace=default") as seen:
        seen.until_records(1)
    with reader(api, stream, None, "?namespace=none") as refused:
        refused.to_end()

    assert refused.response.status == 404
    assert json.loads(refused.body)["reason"] == "namespace_not_found"


def test_what_is_sent_up_to_the_head_is_delivered(api: Api) -> None:
    stream = a_stream()
    append(api, stream, 1, 2)
    with reader(api, stream) as seen:
        seen.until_records(2)

        until(lambda: api.get(stream).json()["stream"]["pending_items"] == 0)


def test_a_server_that_ends_tells_readers_to_come_back(tmp_path: Path) -> None:
    with serving(tmp_path) as api:
        stream = a_stream()
        append(api, stream, 1)
        with reader(api, stream) as seen:
            seen.until_records(1)
            first = seen.last_id
            api.server.drain()
            seen.to_end()

            assert [event.type for event in seen.events] == ["message"]
            assert seen.last_id != first
        with reader(api, stream) as put_off:
            put_off.to_end()
            assert put_off.response.status == 200
            assert put_off.parser.retry


def test_a_store_that_is_away_is_told_with_200(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = a_stream()
    append(api, stream, 1)
    with reader(api, stream) as seen:
        seen.until_records(1)

    def away(*_: object) -> None:
        raise DurableStreamUnavailableError("away")

    monkeypatch.setattr(EmbeddedService, "place_before", away)
    monkeypatch.setattr(EmbeddedService, "describe", away)
    for last_id in (None, seen.last_id):
        with reader(api, stream, last_id) as put_off:
            put_off.to_end()
            assert (put_off.response.status, put_off.payloads) == (200, [])
            assert put_off.parser.retry
            assert bool(put_off.last_id) == (last_id is not None)


def test_what_is_live_is_taken_there_and_then_as_of_topics(tmp_path: Path) -> None:
    async def play() -> None:
        backend, options = open_backend(f"sqlite:///{tmp_path}/runs.db", {})
        service = EmbeddedService(backend)
        application = Application(backend, KeyRing.new(), options=options, workflow=service)
        stream = Run("default", "wf", "run").stream("tokens")
        try:
            await asyncio.to_thread(service.append, stream, [NewItem(payload=b"0")])
            exchange, running = await resting(
                application, "/api/workflows/wf/runs/run/streams/tokens/events?from=1", lambda: True
            )
            await asyncio.to_thread(service.append, stream, [NewItem(payload=b"1")])
            await exchange.until(lambda seen: any(b'"offset":1' in body for body in seen.bodies))
            assert exchange.offered == 1
            exchange.vanish()
            await running
        finally:
            await application.close()

    asyncio.run(play())
