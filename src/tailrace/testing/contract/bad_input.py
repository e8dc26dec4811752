"""Bad input: one clear typed error before anything is done, the same on every store."""

import math

import pytest

from tailrace import limits
from tailrace.errors import (
    DurableStreamUnavailableError,
    InvalidArgumentError,
    InvalidTopicNameError,
    InvalidTypeError,
    PayloadTooLargeError,
)
from tailrace.records import CLOSED
from tailrace.retention import Retention
from tailrace.testing.drivers import Client, Topic
from tailrace.testing.faults import FaultyBackend
from tailrace.testing.fixtures import Connect
from tailrace.testing.reading import nothing, payloads, read_all, take
from tailrace.testing.stores import StoreUnderTest

REFUSED_NAMES = {
    "empty": "",
    "nul": "\0",
    "nul-inside": "run\0one",
    "high-surrogate": "run \ud800",
    "low-surrogate": "\udfff",
    "swapped-surrogates": "\udc00\ud800",
    "513-letters": "x" * 513,
    "513-bytes": "\u00e9" * 256 + "x",
    "a-million": "x" * 1_000_000,
}
ODD_NAMES = {
    "spaces": "  a b  ",
    "newlines": "a\r\nb\n",
    "tab-and-bell": "\t\a\x1b[31m\x7f",
    "slashes": "../../etc/passwd",
    "quotes": "'\"`; DROP TABLE topics; --",
    "wildcards": "*%_>?#.$",
    "braces": "{a}{b}[c]",
    "colons": "run:42:::",
    "percent-encoded": "%00%2f",
    "backslashes": "\\x00\\n",
    "emoji": "\U0001f9ed\u200d\U0001f30a",
    "right-to-left": "\u202eabc\u0627",
    "not-a-character": "\uffff\ufffe",
    "byte-order-mark": "\ufeffa",
    "last-code-point": "\U0010ffff",
}
NOT_TEXT: dict[str, object] = {"None": None, "bytes": b"run", "int": 7, "list": ["run"], "bool": True}
NOT_BYTES: dict[str, object] = {
    "text": "text",
    "None": None,
    "int": 7,
    "float": 1.5,
    "list": [1, 2],
    "dict": {"a": 1},
    "bytes-in-a-tuple": (b"x",),
}
NOT_PAYLOADS: dict[str, object] = {
    "bytes": b"abc",
    "text": "abc",
    "None": None,
    "int": 3,
    "texts": ["a", "b"],
    "mixed": [b"a", "b"],
    "ints": [1, 2],
    "none-inside": [b"a", None],
}
WRONG_TIMEOUTS: dict[str, float] = {
    "negative": -1,
    "slightly-negative": -1e-9,
    "minus-infinity": -math.inf,
    "nan": math.nan,
}
NOT_TIMEOUTS: dict[str, object] = {"None": None, "text": "1", "list": [1], "bytes": b"1", "complex": 1j}


class TestBadInput:
    @pytest.mark.parametrize("wrong", REFUSED_NAMES.values(), ids=REFUSED_NAMES)
    def test_a_name_that_no_store_could_keep_is_refused(
        self, connect: Connect, faulty: FaultyBackend, wrong: str
    ) -> None:
        client = connect(faulty)
        with pytest.raises(InvalidTopicNameError) as caught:
            client.topic(wrong)
        assert isinstance(caught.value, ValueError)
        assert len(str(caught.value)) < 300
        assert not faulty.calls

    @pytest.mark.parametrize("wrong", NOT_TEXT.values(), ids=NOT_TEXT)
    def test_a_name_that_is_not_text_is_refused(self, streams: Client, wrong: str) -> None:
        with pytest.raises(InvalidTypeError) as caught:
            streams.topic(wrong)
        assert isinstance(caught.value, TypeError)

    @pytest.mark.parametrize("wrong", REFUSED_NAMES.values(), ids=REFUSED_NAMES)
    def test_operations_refuse_the_names_that_topics_refuse(self, streams: Client, wrong: str) -> None:
        with pytest.raises(InvalidTopicNameError):
            streams.maintenance.delete(wrong)
        with pytest.raises(InvalidTopicNameError):
            streams.maintenance.trim(wrong, Retention(max_records=1))

    def test_operations_refuse_what_no_store_could_answer(self, streams: Client) -> None:
        for wrong in ("\0", "run \ud800"):
            with pytest.raises(InvalidTopicNameError):
                streams.maintenance.topics(prefix=wrong)
            with pytest.raises(InvalidTopicNameError):
                streams.maintenance.topics(after=wrong)
        for limit in (0, -1, 10**30):
            with pytest.raises(InvalidArgumentError):
                streams.maintenance.topics(limit=limit)

    @pytest.mark.parametrize("odd", ODD_NAMES.values(), ids=ODD_NAMES)
    def test_an_odd_name_is_a_name(self, streams: Client, elsewhere: Client, store: StoreUnderTest, odd: str) -> None:
        name = store.fresh_name(odd)
        topic = streams.topic(name)
        assert topic.name == name
        topic.append(b"x")
        assert read_all(elsewhere.topic(name).subscribe_from_beginning(), 1) == [b"x"]
        assert [info.name for info in store.operations.topics(prefix=name)] == [name]
        store.delete(name)
        assert not store.exists(name)

    @pytest.mark.parametrize("letter", ["x", "\u00e9", "\u20ac", "\U0001f30a"])
    def test_the_longest_name_is_a_name(self, streams: Client, store: StoreUnderTest, letter: str) -> None:
        name = store.fresh_name()
        room = limits.MAX_TOPIC_NAME_BYTES - len(name.encode())
        name += letter * (room // len(letter.encode()))
        streams.topic(name).append(b"x")
        streams.topic(name[:-1]).append(b"shorter")
        assert read_all(streams.topic(name).subscribe_from_beginning(), 1) == [b"x"]

    @pytest.mark.parametrize("wrong", NOT_BYTES.values(), ids=NOT_BYTES)
    def test_a_payload_that_is_not_bytes_is_refused(
        self, connect: Connect, faulty: FaultyBackend, name: str, wrong: bytes
    ) -> None:
        topic = connect(faulty).topic(name)
        for producer in (topic, topic.as_producer()):
            with pytest.raises(InvalidTypeError):
                producer.append(wrong)
        assert not faulty.calls

    @pytest.mark.parametrize("wrong", NOT_PAYLOADS.values(), ids=NOT_PAYLOADS)
    def test_a_batch_that_is_not_payloads_is_refused_whole(
        self, connect: Connect, faulty: FaultyBackend, name: str, wrong: list[bytes]
    ) -> None:
        with pytest.raises(InvalidTypeError):
            connect(faulty).topic(name).append_many(wrong)
        assert not faulty.calls

    def test_a_buffer_may_be_reused_once_append_has_returned(self, topic: Topic) -> None:
        buffer = bytearray(b"first")
        topic.append(buffer)  # type: ignore[arg-type]
        buffer[:] = b"other"
        topic.append_many([memoryview(buffer)])  # type: ignore[list-item]
        buffer[:] = b"third"
        assert read_all(topic.subscribe_from_beginning(), 2) == [b"first", b"other"]

    def test_a_payload_error_names_no_payload(self, connect: Connect, name: str) -> None:
        topic = connect(max_payload=10).topic(name)
        with pytest.raises(PayloadTooLargeError) as too_large:
            topic.append(b"secret-secret-secret")
        with pytest.raises(InvalidTypeError) as no_bytes:
            topic.append("secret-secret-secret")  # type: ignore[arg-type]
        assert "secret" not in str(too_large.value) + str(no_bytes.value)

    @pytest.mark.parametrize("wrong", WRONG_TIMEOUTS.values(), ids=WRONG_TIMEOUTS)
    @pytest.mark.parametrize("ready", [True, False], ids=["record-ready", "nothing-ready"])
    def test_a_timeout_that_is_no_time_is_refused_and_takes_nothing(
        self, topic: Topic, wrong: float, ready: bool
    ) -> None:
        _refuses_timeout(topic, wrong, InvalidArgumentError, ready=ready)

    @pytest.mark.parametrize("wrong", NOT_TIMEOUTS.values(), ids=NOT_TIMEOUTS)
    @pytest.mark.parametrize("ready", [True, False], ids=["record-ready", "nothing-ready"])
    def test_a_timeout_that_is_no_number_is_refused_and_takes_nothing(
        self, topic: Topic, wrong: float, ready: bool
    ) -> None:
        _refuses_timeout(topic, wrong, InvalidTypeError, ready=ready)

    @pytest.mark.parametrize("timeout", [math.inf, 1e300, 10**30, limits.MAX_TIMEOUT * 2])
    def test_a_timeout_without_end_is_a_long_one(self, topic: Topic, timeout: float) -> None:
        topic.append(b"x")
        with topic.subscribe_from_beginning() as subscription:
            record = subscription.receive(timeout=timeout)
        assert payloads([record]) == [b"x"]  # type: ignore[list-item]

    @pytest.mark.parametrize(
        "call", ["append", "append_many", "seal", "subscribe_from_beginning", "subscribe_from_tail", "checkpoint"]
    )
    def test_a_closed_client_says_so(self, connect: Connect, name: str, call: str) -> None:
        client = connect()
        topic = client.topic(name)
        client.close()
        arguments: dict[str, list[object]] = {"append": [b"x"], "append_many": [[b"x"]]}
        with pytest.raises(DurableStreamUnavailableError):
            getattr(topic, call)(*arguments.get(call, []))

    def test_a_subscription_of_a_closed_client_can_not_be_entered(self, connect: Connect, name: str) -> None:
        client = connect()
        topic = client.topic(name)
        topic.append(b"x")
        cursor, subscription = topic.checkpoint(), topic.subscribe_from_beginning()
        client.close()
        with pytest.raises(DurableStreamUnavailableError):
            subscription.__enter__()
        assert subscription.receive(timeout=0) is CLOSED
        with pytest.raises(DurableStreamUnavailableError):
            topic.subscribe_from_cursor(cursor)


def _refuses_timeout(topic: Topic, wrong: float, error: type[Exception], *, ready: bool) -> None:
    with topic.subscribe_from_beginning() as subscription:
        nothing(subscription)
        if ready:
            topic.append_many([b"a", b"b"])
            take(subscription, 1)
        with pytest.raises(error):
            subscription.receive(timeout=wrong)
        if not ready:
            topic.append_many([b"b"])
        assert payloads(take(subscription, 1)) == [b"b"]
