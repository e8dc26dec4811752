"""Events are read back byte for byte by a parser that follows the HTML standard to the letter."""

import base64
import json
import random
from dataclasses import dataclass

import pytest

from tailrace.sse import wire

TOKEN = "A" * 112


@dataclass
class Dispatched:
    """What an EventSource hands to a page."""

    type: str
    data: str
    id: str


def parse(stream: bytes) -> tuple[list[Dispatched], str]:
    """Return what is dispatched, and the last id; steps as in section 9.2.6 of the standard."""
    text = stream.decode().removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    events, data, kind, last = [], "", "", ""
    for line in text.split("\n"):
        if not line:
            if data:
                events.append(Dispatched(kind or "message", data.removesuffix("\n"), last))
            data = kind = ""
        elif not line.startswith(":"):
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if field == "data":
                data += value + "\n"
            elif field == "event":
                kind = value
            elif field == "id" and "\0" not in value:
                last = value
    return events, last


def payload_of(event: Dispatched, *, text: bool = True) -> bytes:
    """Return the payload, as a page would."""
    return base64.b64decode(event.data) if event.type == "base64" or not text else event.data.encode()


AWKWARD = {
    "empty": b"",
    "line-feed": b"\n",
    "line-feeds": b"\n\n\n",
    "ends-with-line-feed": b"a\n",
    "begins-with-line-feed": b"\na",
    "carriage-return": b"a\rb",
    "crlf": b"a\r\nb",
    "line-separator": "a\u2028b\u2029c\u0085d".encode(),
    "leading-space": b" a",
    "leading-spaces": b"   a",
    "leading-colon": b": a",
    "looks-like-a-field": b"data: a\nid: b\nevent: c",
    "byte-order-mark": "\ufeffa".encode(),
    "nul": b"a\0b",
    "not-utf8": b"\xff\xfe",
    "cut-utf8": "\u20ac".encode()[:2],
    "surrogate": b"\xed\xa0\x80",
    "every-byte": bytes(range(256)),
    "a-megabyte": b"x" * 2**20,
    "emoji": "\U0001f600".encode(),
}


@pytest.mark.parametrize("payload", AWKWARD.values(), ids=AWKWARD)
@pytest.mark.parametrize("text", [True, False], ids=["text", "base64"])
def test_a_payload_comes_back_byte_for_byte(payload: bytes, text: bool) -> None:
    (event,), last = parse(wire.event(TOKEN, payload, text=text))
    assert payload_of(event, text=text) == payload
    assert event.id == last == TOKEN


def test_payloads_that_follow_each_other_stay_apart() -> None:
    chance = random.Random(7)
    pieces = [*AWKWARD.values(), b"data:", b":", b" ", b"\n", b"id: ", b"x"]
    for _ in range(300):
        payloads = [b"".join(chance.choices(pieces, k=3))[:200] for _ in range(5)]
        stream = wire.prime(TOKEN, 2.0) + b"".join(wire.event(TOKEN, payload) for payload in payloads)
        assert [payload_of(event) for event in parse(stream)[0]] == payloads


def test_only_what_is_no_text_for_a_browser_is_marked_as_base64() -> None:
    kinds = {name: parse(wire.event(TOKEN, payload))[0][0].type for name, payload in AWKWARD.items()}
    marked = {name for name, kind in kinds.items() if kind == "base64"}
    assert marked == {"carriage-return", "crlf", "not-utf8", "cut-utf8", "surrogate", "every-byte"}


def test_what_comes_first_sets_the_id_and_dispatches_nothing() -> None:
    assert parse(wire.prime(TOKEN, 1.5)) == ([], TOKEN)
    assert b"retry: 1500\n" in wire.prime(TOKEN, 1.5)


def test_heartbeats_and_delays_leave_the_id_as_it_is() -> None:
    for silent in (wire.HEARTBEAT, wire.later(3)):
        assert parse(wire.prime(TOKEN, 1) + silent) == ([], TOKEN)
        assert b"id" not in silent


@pytest.mark.parametrize("reason", ["plain", "two\nlines", "\r", "id: x\n\ndata: y", "\u2028"])
def test_the_reason_of_an_end_can_not_break_out_of_its_event(reason: str) -> None:
    (ended,), last = parse(wire.end(TOKEN, reason))
    assert (ended.type, last) == ("end", TOKEN)
    assert json.loads(ended.data) == {"kind": "failed", "error": reason}
    (lost,), _ = parse(wire.gap(TOKEN, reason))
    assert (lost.type, json.loads(lost.data)) == ("gap", {"reason": reason})


def test_a_seal_without_error_is_told_as_such() -> None:
    ((ended,), _) = parse(wire.end(TOKEN, None))
    assert json.loads(ended.data) == {"kind": "sealed", "error": None}
