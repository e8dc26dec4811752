"""What a server refuses, and answers that make no sense, in both colours."""

import pytest
from tests.http.scripted import Scripted, answer
from tests.workflow.sdk.answers import KEYED, PLAIN, SHOWN, STORED, STREAM, TOKEN, Opened, in_turn, refusal, told

from tailrace import workflow
from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError
from tailrace.workflow import errors
from tailrace.workflow.payloads import PayloadError, PayloadMediaTypeError, PayloadUnavailableError
from tailrace.workflow.payloads import errors as payloads
from tailrace.workflow.remote import RefusedError


def test_a_full_stream_is_told_at_once(opened: Opened) -> None:
    full = refusal(b"429 Full", "stream_full", pending_items=9, max_pending_items=10)
    with Scripted(in_turn(full)) as server:
        with pytest.raises(workflow.StreamFullError) as refused:
            opened(server.url)("append", STREAM, [KEYED])
    assert (refused.value.details, len(server.asked)) == ({"pending_items": 9, "max_pending_items": 10}, 1)


KINDS = [
    kind
    for kind in (*vars(errors).values(), *vars(payloads).values())
    if isinstance(kind, type)
    and issubclass(kind, errors.WorkflowStreamError)
    and kind not in (errors.WorkflowStreamError, PayloadError, PayloadMediaTypeError, PayloadUnavailableError)
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.reason)
def test_every_reason_of_the_table_is_its_error(opened: Opened, kind: type[errors.WorkflowStreamError]) -> None:
    more = {"errors": {"items": ["no"]}, "limit": 5}
    with Scripted(in_turn(refusal(b"%d No" % kind.status, kind.reason, **more))) as server:
        with pytest.raises(kind) as refused:
            opened(server.url)("describe", STREAM)
    assert type(refused.value) is kind
    assert (str(refused.value), refused.value.details) == ("no", more)


def test_a_storage_of_payloads_that_is_away_is_tried_again_and_then_told(opened: Opened) -> None:
    away = refusal(b"503 Away", PayloadUnavailableError.reason, retryable=True)
    with Scripted(in_turn(away, told(STORED))) as server:
        opened(server.url)("append", STREAM, [PLAIN])
        # Nothing was stored, so it is safe to try again also without keys.
        assert len(server.asked) == 2
    with Scripted(in_turn(away)) as server:
        with pytest.raises(PayloadUnavailableError) as refused:
            opened(server.url)("append", STREAM, [PLAIN])
        assert len(server.asked) > 1
    assert refused.value.details == {"retryable": True}


def test_a_reason_that_nobody_here_knows_is_told_as_it_is(opened: Opened) -> None:
    with Scripted(in_turn(refusal(b"409 No", "v1_projection_read_only", hint="x"))) as server:
        with pytest.raises(RefusedError) as refused:
            opened(server.url)("append", STREAM, [PLAIN])
    assert refused.value.details == {"status": 409, "reason": "v1_projection_read_only", "hint": "x"}


@pytest.mark.parametrize(
    ("said", "word"),
    [
        (refusal(b"401 Who", "unauthorized"), "token"),
        (refusal(b"403 No", "forbidden", role="worker"), "token"),
        (answer(b"<html>", status=b"404 Not Found", kind=b"text/html"), "path"),
        (answer(b"", status=b"308 There", more=b"location: https://elsewhere\r\n"), "redirects"),
        (answer(b"", status=b"413 Large"), "size"),
        (answer(b"", status=b"418 Teapot"), "understand"),
        (refusal(b"503 Broken", "unusable_store"), "no"),
    ],
)
def test_what_waiting_does_not_help_is_told_at_once(opened: Opened, said: bytes, word: str) -> None:
    with Scripted(in_turn(said)) as server:
        calls = opened(server.url)
        with pytest.raises(StoreUnusableError) as refused:
            calls("append", STREAM, [PLAIN])
    assert word in str(refused.value)
    assert (refused.value.maybe_stored, len(server.asked)) == (False, 1)
    assert TOKEN not in str(refused.value) + repr(calls.service)


@pytest.mark.parametrize(
    "said",
    [
        answer(b"<html>welcome", kind=b"text/html"),
        told([]),
        told({}),
        told({"stream": None}),
        told({**STORED, "accepted_offsets": []}),
        told({**STORED, "accepted": "1"}),
        told({**STORED, "stream": {**SHOWN, "status": "asleep"}}),
    ],
)
def test_an_answer_that_makes_no_sense_leaves_an_append_open(opened: Opened, said: bytes) -> None:
    with Scripted(in_turn(said)) as server:
        with pytest.raises(DurableStreamUnavailableError) as unknown:
            opened(server.url)("append", STREAM, [KEYED])
    assert (unknown.value.maybe_stored, len(server.asked)) == (True, 1)
