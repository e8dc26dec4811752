"""S11: payloads come back byte for byte on every store; names and reasons are refused alike on every store."""

import pytest

from tailrace.errors import InvalidArgumentError, InvalidTopicNameError
from tailrace.testing.contract.append import ODD
from tailrace.testing.contract.bad_input import ODD_NAMES, REFUSED_NAMES
from tailrace.testing.drivers import Client, Topic
from tailrace.testing.fixtures import Connect
from tailrace.testing.peers import Peer
from tailrace.testing.reading import drain, payloads, read_all, take
from tailrace.testing.stores import StoreUnderTest

MORE = {
    **ODD,
    "nul-run": b"\0" * 1000,
    "quote-and-backslash": b"'\"\\\\x27;--",
    "utf16": "\ufeff\U0001f30a".encode("utf-16"),
    "overlong-utf8": b"\xc0\x80",
    "json-with-a-lone-surrogate": b'"\\ud800"',
    "gzip-magic": b"\x1f\x8b\x08\0",
    "sqlite-magic": b"SQLite format 3\0",
    "resp": b"*1\r\n$4\r\nPING\r\n",
}


@pytest.mark.parametrize("payload", MORE.values(), ids=MORE)
def test_what_another_process_appends_is_read_byte_for_byte(topic: Topic, peer: Peer, payload: bytes) -> None:
    with topic.subscribe_from_tail() as subscription:
        peer.append(topic.name, payload)
        assert payloads(take(subscription, 1)) == [payload]
    assert read_all(topic.subscribe_from_beginning(), 1) == [payload]


def test_all_of_them_in_one_batch(topic: Topic, store: StoreUnderTest) -> None:
    batch = [*MORE.values()]
    topic.append_many(batch)
    assert read_all(topic.subscribe_from_beginning(), len(batch)) == batch
    assert store.contents(topic.name) == batch


def test_every_single_byte_and_every_pair_of_ends(topic: Topic) -> None:
    batch = [bytes([first]) + b"x" + bytes([last]) for first in range(256) for last in (0, 10, 39, 128, 255)]
    topic.append_many([bytes([each]) for each in range(256)])
    topic.append_many(batch)
    found = read_all(topic.subscribe_from_beginning(), 256 + len(batch))
    assert found == [bytes([each]) for each in range(256)] + batch


@pytest.mark.parametrize("odd", ODD_NAMES.values(), ids=ODD_NAMES)
def test_another_process_finds_a_topic_by_its_odd_name(
    streams: Client, peer: Peer, store: StoreUnderTest, odd: str
) -> None:
    name = store.fresh_name(odd)
    peer.append(name, b"x")
    assert read_all(streams.topic(name).subscribe_from_beginning(), 1) == [b"x"]


@pytest.mark.parametrize("wrong", REFUSED_NAMES.values(), ids=REFUSED_NAMES)
def test_a_refused_name_is_the_same_typed_error_everywhere(streams: Client, wrong: str) -> None:
    with pytest.raises(InvalidTopicNameError):
        streams.topic(wrong)


@pytest.mark.parametrize("wrong", ["a\0", "\ud800", "\udfff x"])
def test_a_refused_reason_is_the_same_typed_error_everywhere(topic: Topic, wrong: str) -> None:
    with pytest.raises(InvalidArgumentError):
        topic.seal(error=wrong)
    topic.append(b"still open")


@pytest.mark.parametrize("reason", ["1e400", "'; DROP TABLE topics; --", "\ufffe\U0010ffff", "\r\n\t", "\u0130"])
def test_an_odd_reason_comes_back_as_it_was(topic: Topic, peer: Peer, reason: str) -> None:
    peer.seal(topic.name, reason)
    with topic.subscribe_from_beginning() as subscription:
        drain(subscription)
    assert subscription.end is not None
    assert subscription.end.error == reason


def test_a_cursor_of_an_odd_name_resumes(connect: Connect, store: StoreUnderTest) -> None:
    name = store.fresh_name("\u202e\n{%}\U0001f30a")
    topic = connect().topic(name)
    topic.append_many([b"a", b"b"])
    with topic.subscribe_from_beginning() as subscription:
        take(subscription, 1)
    assert read_all(connect().topic(name).subscribe_from_cursor(subscription.cursor), 1) == [b"b"]
