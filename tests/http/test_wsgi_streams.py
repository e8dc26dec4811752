"""The WSGI iterable by itself: what is written when the store fails between two records that go out together."""

import time
from collections.abc import Callable, Sequence

from tests.http.parser import Event, Parser
from typing_extensions import override

from tailrace import DurableStreamRecord, EngineOptions, Retention, StreamClient, Topic
from tailrace.backends.memory import MemoryStore
from tailrace.integrations.wsgi import EventStreams
from tailrace.spi import ReadOutcome, ReadRequest
from tailrace.testing.faults import Fail, FaultyBackend
from tailrace.tokens import KeyRing, Tokens

TOKENS = Tokens(KeyRing.new(), audience="tests")
ONE_BY_ONE = EngineOptions(page_records=1, buffer_records=1, outage_budget=0)


class AfterOne(FaultyBackend):
    """A store to which something happens as soon as it has given a record."""

    happens: Callable[[], object] | None = None

    @override
    def read(self, requests: Sequence[ReadRequest]) -> Sequence[ReadOutcome]:
        if self.records_read and self.happens is not None:
            self.happens()
        return super().read(requests)


def written(topic: Topic) -> tuple[list[Event], str]:
    """Return the events of a whole stream, and the id that a browser has after it."""
    parser = Parser()
    body = EventStreams().events({}, topic, TOKENS, start="beginning")
    return [event for part in body for event in parser.feed(part)], parser.last_id


def test_a_store_that_goes_away_takes_no_record_with_it() -> None:
    store = AfterOne(MemoryStore())
    with StreamClient(store, options=ONE_BY_ONE) as streams:
        topic = streams.topic("t")
        topic.append_many([b"1", b"2", b"3"])
        store.happens = lambda: store.always("read", Fail())

        events, last_id = written(topic)

        store.happens = None
        store.heal()
        with topic.subscribe_from_cursor(TOKENS.open("t", last_id).cursor) as resumed:
            got = resumed.receive(5.0)
    assert [event.payload for event in events] == [b"1"]
    assert isinstance(got, DurableStreamRecord)
    assert got.payload == b"2"


def test_what_came_before_a_gap_is_written_before_it() -> None:
    memory = MemoryStore()
    store = AfterOne(memory)
    with StreamClient(store, options=ONE_BY_ONE) as streams:
        topic = streams.topic("t")
        topic.append_many([b"1", b"2", b"3"])
        with StreamClient(MemoryStore(beside=memory)) as operator:
            store.happens = lambda: operator.maintenance.trim("t", Retention(max_records=1))

            events, last_id = written(topic)

    assert [event.type for event in events] == ["message", "gap"]
    assert TOKENS.open("t", last_id).terminal


def test_head_is_answered_without_a_stream_that_nobody_would_see_the_end_of() -> None:
    streams = EventStreams()
    with StreamClient(MemoryStore()) as client:
        topic = client.topic("t")
        answer = streams.events({"REQUEST_METHOD": "HEAD"}, topic, TOKENS)

        assert (answer.status, list(answer), streams.count) == ("200 OK", [], 0)
        assert dict(answer.headers)["Content-Type"].startswith("text/event-stream")
        assert client.stats()["subscriptions"] == 0


def test_a_stream_ends_with_the_right_to_it_and_is_resumed_with_another() -> None:
    with StreamClient(MemoryStore()) as client:
        topic = client.topic("t")
        topic.append(b"1")
        parser = Parser()
        for part in EventStreams().events({}, topic, TOKENS, start="beginning", expires_at=time.time() + 0.5):
            parser.feed(part)

        assert not TOKENS.open("t", parser.last_id).terminal
        assert parser.blocks[-1] == ("retry", "id")
