"""Pages that come over HTTP: payloads as they were written, and nothing missing, in both colours."""

import json

import pytest
from tests.http.scripted import Scripted, answer
from tests.workflow.sdk.answers import SHOWN, STREAM, Opened, in_turn, told

from tailrace import workflow
from tailrace.errors import DurableStreamUnavailableError


def page(*items: str, next_offset: int, terminal: bool = False) -> bytes:
    tail = json.dumps({"next_offset": next_offset, "terminal": terminal, "stream": SHOWN})[1:]
    return answer(f'{{ "items" : [ {" , ".join(items)} ] , {tail}'.encode(), kind=b"application/json")


def item(offset: int, payload: str) -> str:
    rest = '"origin":"external","emitted_at":"2026-01-02T03:04:05.000006Z"'
    return f'{{"offset": {offset}, "payload" : {payload} , {rest}}}'


@pytest.mark.parametrize(
    "payload", ["1e400", "9" * 5000, '{"a":1,"a":2}', '"\\ud800"', "[ 1 ,\t2]", '{"payload":"x","b":[{}]}', '"é"']
)
def test_a_payload_keeps_its_own_text_wherever_it_stands_in_its_item(opened: Opened, payload: str) -> None:
    with Scripted(in_turn(page(item(0, payload), item(1, "null"), next_offset=2, terminal=True))) as server:
        found = opened(server.url)("subscribe", STREAM)
    items = workflow.items.page_from(found).items
    assert [item.payload_json for item in items] == [payload, "null"]
    assert (found.next_offset, found.terminal) == (2, True)


@pytest.mark.parametrize(
    "said",
    [
        page(item(1, "1"), next_offset=2),
        page(item(0, "1"), item(2, "1"), next_offset=3),
        page(item(0, "1"), next_offset=5),
        page("{}", next_offset=1),
        page('"text"', next_offset=1),
    ],
)
def test_a_page_with_a_hole_is_none(opened: Opened, said: bytes) -> None:
    with Scripted(in_turn(said)) as server:
        with pytest.raises(DurableStreamUnavailableError):
            opened(server.url)("subscribe", STREAM)


def test_a_connection_serves_one_request_after_the_other(opened: Opened) -> None:
    closing = answer(json.dumps({"stream": SHOWN}).encode(), kind=b"application/json", more=b"connection: close\r\n")
    with Scripted(in_turn(told({"stream": SHOWN}), told({"stream": SHOWN}), closing)) as server:
        calls = opened(server.url)
        for _ in range(5):
            assert calls("describe", STREAM).total_items == 1
    assert len(server.asked) == 5
