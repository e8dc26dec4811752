"""What a run's streams can do, in this process and over HTTP alike."""

import pytest

from tailrace import workflow
from tailrace.errors import InvalidArgumentError, InvalidTypeError
from tailrace.workflow import NewItem, RunStreams, Status, Workflows


def test_values_come_back_as_they_went_in(run: RunStreams) -> None:
    values = [None, True, 7, 1.5, "h\u00e9 \u2603", ["a", {"b": []}], {"percent": 50}]
    appended = run.append("tokens", values, item_type="token", content_type="application/json")
    assert (list(appended.offsets), appended.accepted, appended.deduped) == (list(range(7)), 7, 0)
    page = run.subscribe("tokens")
    assert [item.payload for item in page.items] == values
    assert [item.offset for item in page.items] == list(range(7))
    assert (page.next_offset, page.terminal) == (7, False)
    first = page.items[0]
    assert (first.origin, first.item_type, first.content_type) == ("external", "token", "application/json")
    assert first.emitted_at == page.stream.last_appended_at


def test_a_page_is_bounded_and_goes_on_at_its_next_offset(run: RunStreams) -> None:
    run.append("s", list(range(5)))
    first = run.subscribe("s", max_items=2)
    assert ([item.payload for item in first.items], first.next_offset) == ([0, 1], 2)
    rest = run.subscribe("s", from_offset=first.next_offset)
    assert [item.payload for item in rest.items] == [2, 3, 4]
    empty = run.subscribe("s", from_offset=5)
    assert (list(empty.items), empty.next_offset) == ([], 5)


def test_keys_make_a_retry_safe(run: RunStreams) -> None:
    run.append("s", ["a", "b"], keys=["k1", None])
    again = run.append("s", ["a", "c"], keys=["k1", "k2"])
    assert (list(again.offsets), again.accepted, again.deduped) == ([0, 2], 1, 1)
    with pytest.raises(workflow.IdempotencyConflictError):
        run.append("s", ["other"], keys=["k1"])


def test_a_full_stream_says_how_full_it_is_and_keeps_nothing(run: RunStreams) -> None:
    run.append("s", [1, 2], max_pending_items=3)
    with pytest.raises(workflow.StreamFullError) as refused:
        run.append("s", [3, 4], max_pending_items=3)
    assert (refused.value.details["pending_items"], refused.value.details["max_pending_items"]) == (2, 3)
    assert run.describe("s").last_offset == 1


def test_a_closed_stream_says_so_to_readers_and_producers(run: RunStreams) -> None:
    run.append("s", [1])
    closed = run.close("s", retention_seconds=60)
    assert (closed.status, closed.retention_seconds) == (Status.CLOSED, 60)
    assert run.error("s", "too late").status is Status.CLOSED
    assert run.subscribe("s").terminal
    with pytest.raises(workflow.StreamClosedError):
        run.append("s", [2])


def test_an_errored_stream_has_its_reason(run: RunStreams) -> None:
    run.append("s", [1])
    assert run.error("s", "worker\nlost").error_reason == "worker\nlost"
    assert run.describe("s").status is Status.ERRORED
    with pytest.raises(workflow.StreamErroredError):
        run.append("s", [2])


def test_streams_are_listed_by_name(run: RunStreams) -> None:
    for name in ("b", "Tok", "tok"):
        run.append(name, [1])
    assert [stream.stream_name for stream in run.list()] == ["Tok", "b", "tok"]


def test_a_lease_is_renewed_while_the_stream_is_open(run: RunStreams) -> None:
    run.append("s", [1], lease_seconds=3600)
    assert run.renew("s", 7200).status is Status.OPEN
    run.close("s")
    with pytest.raises(workflow.StreamClosedError):
        run.renew("s", 7200)


def test_a_run_is_started_described_ended_and_deleted(workflows: Workflows) -> None:
    started = workflows.start("order/7", "r1", workflow_type="Order", task_queue="q")
    assert (started.registered, started.workflow_type, started.task_queue) == (True, "Order", "q")
    with pytest.raises(workflow.RunExistsError):
        workflows.start("order/7", "r1")
    assert workflows.describe("order/7", "r1") == started
    assert workflows.describe("order/7") == started
    ended = workflows.end("order/7", "r1")
    assert ended.ended_at is not None
    assert workflows.end("order/7", "r1") == ended
    workflows.run("order/7", "r1").append("s", [1])
    assert workflows.delete("order/7", "r1")
    assert not workflows.delete("order/7", "r1")
    with pytest.raises(workflow.RunNotFoundError):
        workflows.run("order/7", "r1").list()


def test_a_run_without_an_id_gets_one_of_its_own(workflows: Workflows) -> None:
    first = workflows.start("w1").run
    second = workflows.start("w2").run
    assert first.run_id != second.run_id


def test_what_is_not_there_is_told_by_its_own_error(run: RunStreams) -> None:
    with pytest.raises(workflow.RunNotFoundError):
        run.describe("s")
    run.append("s", [1])
    for call in (lambda: run.describe("t"), lambda: run.subscribe("t"), lambda: run.close("t")):
        with pytest.raises(workflow.StreamNotFoundError):
            call()


@pytest.mark.parametrize(
    ("payload", "error"),
    [(float("nan"), InvalidArgumentError), ("\ud800", InvalidArgumentError), (b"raw", InvalidTypeError)],
)
def test_what_json_does_not_have_is_refused_before_anything_is_sent(
    run: RunStreams, payload: object, error: type[Exception]
) -> None:
    with pytest.raises(error):
        run.append("s", [payload])
    with pytest.raises(workflow.RunNotFoundError):
        run.list()


def test_raw_json_that_is_none_can_not_smuggle_anything_in(run: RunStreams) -> None:
    smuggled = NewItem(payload=b'1},{"payload":2')
    with pytest.raises(workflow.InvalidFieldsError) as refused:
        run.append("s", [smuggled])
    assert "items.0.payload" in refused.value.errors


@pytest.mark.parametrize("payloads", ["text", {"a": 1}, 7])
def test_one_payload_is_not_a_list_of_them(run: RunStreams, payloads: object) -> None:
    with pytest.raises(InvalidTypeError):
        run.append("s", payloads)  # type: ignore[arg-type]


def test_bounds_and_names_are_checked(run: RunStreams) -> None:
    for call in (
        lambda: run.append("s", []),
        lambda: run.append("s", [0] * 501),
        lambda: run.subscribe("s", from_offset=-1),
        lambda: run.subscribe("s", max_items=501),
        lambda: run.subscribe("s", wait_seconds=61),
        lambda: run.append("s", [0], max_pending_items=10_001),
        lambda: run.append("s", [0], keys=["k" * 192]),
        lambda: run.close("s", retention_seconds=0),
        lambda: run.error("s", ""),
        lambda: run.renew("s", 0),
    ):
        with pytest.raises(workflow.InvalidFieldsError):
            call()
    with pytest.raises(workflow.InvalidStreamNameError):
        run.append("no spaces", [0])


def test_a_reference_may_have_members_of_any_name(run: RunStreams) -> None:
    reference = {"schema": "x", "payload": 2, "n": {"a": 1, "payload": [3]}}
    text = NewItem(payload=b'{"a":1,"payload":4}', payload_reference=reference, item_type=',"payload":5')
    run.append("s", [text])
    item = run.subscribe("s").items[0]
    assert item.payload == {"a": 1, "payload": 4}
    assert (item.payload_reference, item.item_type) == (reference, ',"payload":5')
