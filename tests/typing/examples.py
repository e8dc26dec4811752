"""How the public API is meant to be used, for the type checker: strict mode must accept every line.

Nothing runs this. An ``assert_type`` that the checker refuses is a break of the public types.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import assert_never, assert_type

import tailrace
from tailrace import (
    CLOSED,
    Closed,
    DurableStreamProducer,
    DurableStreamRecord,
    DurableStreamSubscription,
    DurableStreamTopic,
    Producer,
    Retention,
    StreamClient,
    StreamEnd,
    Subscription,
    Topic,
    TopicCursor,
    workflow,
)
from tailrace.workflow import aio as workflow_aio


def received(subscription: DurableStreamSubscription) -> bytes | None:
    """The union of ``receive`` narrows with ``is``, down to nothing."""
    record = subscription.receive(timeout=5)
    assert_type(record, DurableStreamRecord | Closed | None)
    if record is None:
        return None
    if record is CLOSED:
        return b""
    assert_type(record, DurableStreamRecord)
    assert_type(record.payload, bytes)
    assert_type(record.cursor, TopicCursor)
    return record.payload


def exhausted(record: DurableStreamRecord | Closed | None) -> str:
    """A ``match`` over it is complete."""
    match record:
        case None:
            return "this call timed out"
        case Closed.CLOSED:
            return "the end"
        case DurableStreamRecord(payload=payload):
            return payload.decode()
        case _:
            assert_never(record)


def read_to_the_end(topic: DurableStreamTopic, cursor: TopicCursor | None) -> TopicCursor | None:
    """Code that needs only the contract depends on the Protocols."""
    start = topic.subscribe_from_beginning() if cursor is None else topic.subscribe_from_cursor(cursor)
    with start as subscription:
        assert_type(subscription, DurableStreamSubscription)
        while (record := subscription.receive(timeout=0.5)) is not CLOSED:
            if record is not None:
                cursor = record.cursor
    return cursor


def concrete_classes_satisfy_the_contract(topic: Topic, producer: Producer, subscription: Subscription) -> None:
    """What ``connect`` hands out can be passed wherever the Protocols are asked for."""
    as_topic: DurableStreamTopic = topic
    as_producer: DurableStreamProducer = topic
    half: DurableStreamProducer = producer
    reader: DurableStreamSubscription = subscription
    context: AbstractContextManager[DurableStreamSubscription] = subscription
    del as_topic, as_producer, half, reader, context


def beyond_the_contract() -> None:
    """The concrete classes have more, and say so precisely."""
    with tailrace.connect("memory://", retention=Retention(max_age=3600), outage_budget=0) as streams:
        assert_type(streams, StreamClient)
        topic = streams.topic("run:42")
        assert_type(topic, Topic)
        assert_type(topic.name, str)
        assert_type(topic.as_producer(), Producer)
        topic.append_many(part for part in (b"a", b"b"))
        cursor = topic.checkpoint()
        assert_type(cursor, TopicCursor)
        topic.seal(error="the model refused")
        with topic.subscribe_from_cursor(cursor) as subscription:
            assert_type(subscription, Subscription)
            assert_type(subscription.cursor, TopicCursor)
            assert_type(subscription.end, StreamEnd | None)


def a_cursor_goes_through_storage(topic: Topic, stored: str) -> Subscription:
    """Text from a database becomes a cursor by saying so: the checker keeps it apart from other text."""
    topic.subscribe_from_cursor(stored)  # type: ignore[arg-type]
    return topic.subscribe_from_cursor(TopicCursor(stored))


def what_the_checker_refuses(topic: Topic) -> None:
    """Mistakes that never reach a store. An ignore that is no longer needed is an error too."""
    topic.append("text")  # type: ignore[arg-type]
    topic.seal("positional")  # type: ignore[call-arg]
    topic.as_producer().subscribe_from_tail()  # type: ignore[attr-defined]
    for _ in topic.subscribe_from_tail():  # type: ignore[attr-defined]
        break


def streams_of_runs() -> None:
    """What ``tailrace.workflow`` hands out, and that a stream is a topic."""
    with workflow.connect("sqlite:///runs.db", timeout=5.0) as workflows:
        run = workflows.run("order-7", "run-1")
        assert_type(run, workflow.RunStreams)
        assert_type(run.append("tokens", [1, {"a": None}], keys=["k", None]), workflow.Appended)
        assert_type(run.emitter("task-1"), workflow.Emitter)
        with run.iterate("tokens") as items:
            for item in items:
                assert_type(item, workflow.Item)
                assert_type(items.next_offset, int)
            assert_type(items.stream, workflow.Stream | None)
        as_topic: DurableStreamTopic = run.topic("tokens")
        del as_topic
        workflow.connect("sqlite:///runs.db", colour="red")  # type: ignore[call-arg]


async def streams_of_runs_awaited() -> None:
    """The same, for coroutines."""
    async with await workflow_aio.connect("https://host", token="t") as workflows:
        run = workflows.run("order-7", "run-1")
        assert_type(await run.list(), Sequence[workflow.Stream])
        async for item in run.iterate("tokens"):
            assert_type(item, workflow.Item)
        assert_type(await run.emitter("task-1").close("tokens"), workflow.Stream)
