"""What is sent again when something goes wrong on the way to a server, and what is told, in both colours."""

import socket

import pytest
from tests.http.scripted import Scripted, answer
from tests.workflow.sdk.answers import KEYED, PLAIN, SHOWN, STORED, STREAM, TOKEN, Opened, in_turn, refusal, told

from tailrace.errors import DurableStreamUnavailableError
from tailrace.workflow.remote import requests
from tailrace.workflow.remote.attempts import Attempts


def test_a_keyed_append_is_sent_again_when_its_answer_is_lost(opened: Opened) -> None:
    again = told({**STORED, "accepted": 0, "deduped": 1})
    with Scripted(in_turn(b"", again)) as server:
        appended = opened(server.url)("append", STREAM, [KEYED])
    assert (list(appended.offsets), appended.deduped, len(server.asked)) == ([0], 1, 2)


@pytest.mark.parametrize(
    "said", [b"", answer(b"bad gateway", status=b"502 Bad Gateway"), refusal(b"503 Later", "unknown_outcome")]
)
def test_one_without_keys_is_not_and_nobody_knows(opened: Opened, said: bytes) -> None:
    with Scripted(in_turn(said)) as server:
        with pytest.raises(DurableStreamUnavailableError) as unknown:
            opened(server.url)("append", STREAM, [KEYED, PLAIN])
    assert (unknown.value.maybe_stored, len(server.asked)) == (True, 1)


@pytest.mark.parametrize(
    "said",
    [refusal(b"503 Later", "unavailable"), refusal(b"503 Later", "overloaded"), answer(b"", status=b"429 Slow down")],
)
def test_what_was_not_done_for_certain_is_sent_again(opened: Opened, said: bytes) -> None:
    with Scripted(in_turn(said, said, told(STORED))) as server:
        assert opened(server.url)("append", STREAM, [PLAIN]).accepted == 1
    assert len(server.asked) == 3


def test_three_times_and_then_it_is_told(opened: Opened) -> None:
    with Scripted(in_turn(refusal(b"503 Later", "unavailable"))) as server:
        with pytest.raises(DurableStreamUnavailableError) as away:
            opened(server.url)("append", STREAM, [PLAIN])
    assert (away.value.maybe_stored, len(server.asked)) == (False, 3)


def test_a_lost_answer_is_remembered_when_the_next_attempt_does_not_come_through(opened: Opened) -> None:
    with Scripted(in_turn(b"", refusal(b"503 Later", "unavailable"))) as server:
        with pytest.raises(DurableStreamUnavailableError) as unknown:
            opened(server.url)("append", STREAM, [KEYED])
    assert (unknown.value.maybe_stored, len(server.asked)) == (True, 3)


def test_reads_and_ends_are_sent_again(opened: Opened) -> None:
    with Scripted(in_turn(b"", told({"stream": SHOWN}))) as server:
        assert opened(server.url)("describe", STREAM).last_offset == 0
    with Scripted(in_turn(b"", told({"stream": {**SHOWN, "status": "closed"}}))) as server:
        assert opened(server.url)("end", STREAM).status == "closed"


def test_a_start_whose_answer_is_lost_is_not_sent_again(opened: Opened) -> None:
    with Scripted(in_turn(b"")) as server:
        with pytest.raises(DurableStreamUnavailableError) as unknown:
            opened(server.url)("start_run", STREAM.run)
    assert (unknown.value.maybe_stored, len(server.asked)) == (True, 1)


def test_a_server_that_is_not_there_has_stored_nothing(opened: Opened) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(DurableStreamUnavailableError) as away:
        opened(url)("append", STREAM, [PLAIN])
    assert not away.value.maybe_stored
    assert TOKEN not in str(away.value)


def test_silence_ends_at_the_timeout(opened: Opened) -> None:
    with Scripted(in_turn(None)) as server:
        with pytest.raises(DurableStreamUnavailableError) as unknown:
            opened(server.url, timeout=0.2)("append", STREAM, [KEYED])
    assert (unknown.value.maybe_stored, len(server.asked)) == (True, 1)


def test_only_a_wait_for_items_lasts_longer_than_the_timeout() -> None:
    at_once = Attempts(requests.subscribe(STREAM, 0, 100, 0), 2.0, now=10.0)
    waits = Attempts(requests.subscribe(STREAM, 0, 100, 30), 2.0, now=10.0)
    assert (at_once.deadline(11.0), waits.deadline(11.0)) == (12.0, 11.0 + 30 + 5)
