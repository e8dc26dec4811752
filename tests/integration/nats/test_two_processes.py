"""Processes that append to one topic at full speed: each gets on, and nothing is lost, doubled or out of order."""

import threading
from collections import Counter

import pytest
from tests.integration.nats.stores import contents, opened

import tailrace
from tailrace.testing.peers import OtherProcess
from tailrace.testing.reading import Background

TOPIC = "hot"


def _numbered(name: bytes, count: int) -> list[bytes]:
    return [b"%s:%d" % (name, number) for number in range(count)]


@pytest.mark.parametrize("count", [300, pytest.param(5000, marks=pytest.mark.long)])
def test_two_processes_append_to_one_topic_and_both_get_on(url: str, count: int) -> None:
    with opened(url):
        pass
    others = [OtherProcess(url) for _ in range(2)]
    with tailrace.connect(url) as streams, streams.topic(TOPIC).subscribe_from_tail() as live:
        written = [
            Background(lambda one=one, name=name: one.append(TOPIC, *_numbered(name, count)))  # type: ignore[misc]
            for one, name in zip(others, (b"a", b"b"), strict=True)
        ]
        found: list[bytes] = []
        # Who is first to have stored everything, and how much of the other's there was by then.
        while len(found) < 2 * count:
            record = live.receive(timeout=60)
            assert isinstance(record, tailrace.DurableStreamRecord), f"{len(found)} of {2 * count}"
            found.append(record.payload)
        for one in written:
            one.result()
    for one in others:
        one.close()
    with opened(url, create=False) as store:
        assert contents(store, TOPIC) == found
    assert [payload for payload, times in Counter(found).items() if times > 1] == []
    for name in (b"a", b"b"):
        assert [payload for payload in found if payload.startswith(name)] == _numbered(name, count)
    # The slower one had its share when the faster one was done: neither starves.
    done = max(found.index(b"%s:%d" % (name, count - 1)) for name in (b"a", b"b"))
    first = min(found.index(b"%s:%d" % (name, count - 1)) for name in (b"a", b"b"))
    assert done >= first
    assert first - (count - 1) >= count // 10


def test_threads_of_one_process_and_another_process_share_a_topic(url: str) -> None:
    threads, count = 8, 40
    with opened(url):
        pass
    other = OtherProcess(url)
    with tailrace.connect(url) as streams:
        topic = streams.topic(TOPIC)
        begin = threading.Barrier(threads + 1)

        def write(name: bytes) -> None:
            begin.wait()
            for payload in _numbered(name, count):
                topic.append(payload)

        crew = [Background(lambda name=b"t%d" % number: write(name)) for number in range(threads)]  # type: ignore[misc]
        begin.wait()
        other.append(TOPIC, *_numbered(b"p", count))
        for one in crew:
            one.result()
    other.close()
    with opened(url, create=False) as store:
        found = contents(store, TOPIC)
    assert len(found) == len(set(found)) == (threads + 1) * count
    for name in (b"p", *(b"t%d" % number for number in range(threads))):
        assert [payload for payload in found if payload.startswith(name + b":")] == _numbered(name, count)
