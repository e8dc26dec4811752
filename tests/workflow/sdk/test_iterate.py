"""Follow a stream from a thread: until its end, over outages, and until somebody closes it."""

import pytest
from tests.workflow.sdk.flaky import Flaky

from tailrace import workflow
from tailrace.errors import DurableStreamUnavailableError
from tailrace.testing.reading import PATIENCE, Background
from tailrace.workflow import Cancellation, RunStreams, Status, Workflows


@pytest.fixture
def flaky(embedded: Workflows) -> Flaky:
    return Flaky(embedded._service)


@pytest.fixture
def unsteady(flaky: Flaky) -> RunStreams:
    return Workflows(flaky).run("order/7", "run 1")


def test_it_gives_everything_until_the_end_and_says_how_it_ended(run: RunStreams) -> None:
    run.append("s", list(range(7)))
    run.error("s", "no luck")
    with run.iterate("s", max_items=3) as items:
        assert [item.payload for item in items] == list(range(7))
    assert items.next_offset == 7
    assert items.stream is not None
    assert (items.stream.status, items.stream.error_reason) == (Status.ERRORED, "no luck")


def test_it_waits_for_what_comes(run: RunStreams) -> None:
    run.append("s", [0])
    items = run.iterate("s", wait_seconds=30)
    assert next(items).payload == 0

    def produce() -> None:
        run.append("s", [1])
        run.close("s")

    producer = Background(produce)
    assert [item.payload for item in items] == [1]
    producer.result()


def test_the_checkpoint_is_behind_the_item_that_was_returned_last(run: RunStreams) -> None:
    run.append("s", ["a", "b", "c"])
    run.close("s")
    items = run.iterate("s")
    assert items.next_offset == 0
    assert next(items).next_offset == items.next_offset == 1
    items.close()
    assert [item.payload for item in run.iterate("s", from_offset=items.next_offset)] == ["b", "c"]


def test_closed_from_another_thread_it_ends_while_it_waits(run: RunStreams) -> None:
    run.append("s", [0])
    items = run.iterate("s", wait_seconds=60)
    next(items)
    reader = Background(lambda: list(items))
    items.close()
    assert (reader.result(), items.next_offset) == ([], 1)
    assert list(items) == []


def test_closed_it_gives_nothing_that_it_has_already(run: RunStreams) -> None:
    run.append("s", [0, 1])
    items = run.iterate("s")
    next(items)
    items.close()
    assert (list(items), items.next_offset) == ([], 1)


def test_a_cancellation_of_the_caller_ends_it_and_not_the_other_way_round(run: RunStreams) -> None:
    run.append("s", [0])
    mine = Cancellation()
    first = run.iterate("s", cancellation=mine)
    second = run.iterate("s", wait_seconds=60, cancellation=mine)
    assert (next(first).payload, next(second).payload) == (0, 0)
    first.close()
    assert not mine.cancelled
    reader = Background(lambda: list(second))
    mine.cancel()
    assert reader.result() == list(second) == []


def test_a_subscribe_that_waits_is_ended_by_its_cancellation(run: RunStreams) -> None:
    run.append("s", [0])
    cancellation = Cancellation()
    reader = Background(lambda: run.subscribe("s", from_offset=1, wait_seconds=60, cancellation=cancellation))
    cancellation.cancel()
    page = reader.result()
    assert (list(page.items), page.next_offset, page.terminal) == ([], 1, False)


def test_it_goes_on_after_an_outage_where_it_was(unsteady: RunStreams, flaky: Flaky) -> None:
    unsteady.append("s", [0, 1])
    unsteady.close("s")
    items = unsteady.iterate("s", max_items=1)
    assert next(items).payload == 0
    flaky.fails(3)
    assert [item.payload for item in items] == [1]


def test_beyond_its_budget_the_outage_is_told_and_the_checkpoint_stays(unsteady: RunStreams, flaky: Flaky) -> None:
    unsteady.append("s", [0, 1])
    unsteady.close("s")
    items = unsteady.iterate("s", max_items=1, outage_budget=0)
    next(items)
    flaky.fails(1)
    with pytest.raises(DurableStreamUnavailableError):
        next(items)
    assert items.next_offset == 1
    assert next(items).payload == 1


def test_closed_in_an_outage_it_ends_without_an_error(unsteady: RunStreams, flaky: Flaky) -> None:
    flaky.fails(1_000_000)
    items = unsteady.iterate("s", outage_budget=3600)
    reader = Background(lambda: list(items))
    assert flaky.failed.wait(PATIENCE)
    items.close()
    assert (reader.result(), items.next_offset) == ([], 0)


def test_a_stream_that_is_not_there_yet_is_waited_for_if_asked(unsteady: RunStreams, flaky: Flaky) -> None:
    with pytest.raises(workflow.RunNotFoundError):
        next(unsteady.iterate("s"))
    items = unsteady.iterate("s", opening_budget=3600)
    reader = Background(lambda: next(items).payload)
    assert flaky.missed.wait(PATIENCE)
    unsteady.append("s", ["here"])
    assert reader.result() == "here"


def test_a_stream_that_goes_while_it_is_followed_is_not_waited_for(workflows: Workflows) -> None:
    run = workflows.run("order/7", "run 1")
    run.append("s", [0])
    items = run.iterate("s", opening_budget=3600, wait_seconds=0)
    next(items)
    workflows.delete("order/7", "run 1")
    with pytest.raises(workflow.RunNotFoundError):
        next(items)


def test_closing_the_service_ends_a_wait(workflows: Workflows) -> None:
    run = workflows.run("order/7", "run 1")
    run.append("s", [0])
    items = run.iterate("s", wait_seconds=60, outage_budget=0)
    next(items)
    reader = Background(lambda: list(items))
    workflows.close()
    with pytest.raises(DurableStreamUnavailableError):
        reader.result()


def test_more_threads_follow_than_other_calls_have_connections(run: RunStreams) -> None:
    run.append("s", [0])
    followers = [Background(lambda: [item.payload for item in run.iterate("s")]) for _ in range(40)]
    run.append("s", [1])
    run.close("s")
    assert [follower.result() for follower in followers] == [[0, 1]] * 40
