"""What answers is not what it should be: every such answer is one of our errors, in one sentence, and nothing leaks."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from tests.http.scripted import DESCRIBED_ANSWER, Scripted, answer

import tailrace
from tailrace import spi, wire
from tailrace.backends.http import open_store, pauses
from tailrace.backends.http.line import Head
from tailrace.errors import DurableStreamUnavailableError, InvalidArgumentError, StoreUnusableError
from tailrace.options import StoreOptions, parse_url
from tailrace.testing.leaks import no_leaks

PROBLEM = b"application/problem+json"


def problem(name: str, status: bytes) -> bytes:
    body = b'{"type": "urn:tailrace:problem:%s", "detail": "as the server says"}' % name.encode()
    return answer(body, status=status, kind=PROBLEM)


GARBAGE = {
    "bytes": b"\x00\xff" * 200,
    "another protocol": b"220 mail.example.com ESMTP\r\n",
    "a page": answer(b"<html>Welcome!</html>", kind=b"text/html"),
    "nothing": answer(b""),
    "no json": answer(b"{"),
    "other json": answer(b'{"outcomes": 1}'),
    "too many outcomes": answer(b'{"outcomes": [["deferred"], ["deferred"]]}'),
    "an outcome of another release": answer(b'{"outcomes": [["postponed"]]}'),
    "an endless head": b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 100_000,
    "too long": answer(b"[" + b" " * 2**17 + b"]"),
    "packed": answer(b"\x1f\x8b", more=b"content-encoding: gzip\r\n"),
    "cut": answer(b'{"outcomes": []}')[:-5],
    "cut in its head": answer(b"")[:30],
    "deep": answer(b"[" * 4000),
}

REFUSED = {
    "a redirect": (answer(b"", status=b"301 Moved", more=b"location: https://elsewhere/\r\n"), StoreUnusableError),
    "an unknown key": (problem("unauthenticated", b"401 Unauthorized"), StoreUnusableError),
    "no right": (problem("forbidden", b"403 Forbidden"), StoreUnusableError),
    "somebody else's refusal": (answer(b"no", status=b"403 Forbidden", kind=b"text/plain"), StoreUnusableError),
    "nothing there": (answer(b"no", status=b"404 Not Found", kind=b"text/html"), StoreUnusableError),
    "not possible": (problem("unsupported", b"501 Not Implemented"), StoreUnusableError),
    "too large for a proxy": (answer(b"", status=b"413 Too Large", kind=b"text/html"), StoreUnusableError),
    "overload": (problem("overloaded", b"503 Unavailable"), DurableStreamUnavailableError),
    "store away": (problem("unavailable", b"503 Unavailable"), DurableStreamUnavailableError),
    "too many requests": (answer(b"", status=b"429 Slow Down", kind=b"text/html"), DurableStreamUnavailableError),
}

UNKNOWN = {
    "bad gateway": answer(b"", status=b"502 Bad Gateway", kind=b"text/html"),
    "gateway timeout": answer(b"", status=b"504 Timeout", kind=b"text/html"),
    "a proxy's own 503": answer(b"", status=b"503 Unavailable", kind=b"text/html"),
    "failed": problem("internal", b"500 Failed"),
    "not known": problem("unknown-outcome", b"503 Unavailable"),
}


@contextmanager
def talking_to(say: Callable[[bytes, bytes], bytes | None], **options: float) -> Iterator[tailrace.StreamClient]:
    # The server of the test ends last, and is not looked at.
    with Scripted(say) as server, tailrace.connect(server.url, **options) as streams:  # type: ignore[arg-type]
        with no_leaks(pooled_files=10):
            yield streams


def append(said: bytes | None) -> DurableStreamUnavailableError:
    with talking_to(lambda *_: said, append_timeout=1.0) as streams:
        with pytest.raises(DurableStreamUnavailableError) as caught:
            streams.topic("t").append(b"x")
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("said", GARBAGE.values(), ids=GARBAGE)
def test_an_append_that_is_answered_by_garbage_is_unknown(said: bytes) -> None:
    assert append(said).maybe_stored is True


@pytest.mark.parametrize(("said", "kind"), REFUSED.values(), ids=REFUSED)
def test_an_append_that_is_refused_is_certainly_not_stored(
    said: bytes, kind: type[DurableStreamUnavailableError]
) -> None:
    error = append(said)
    assert type(error) is kind
    assert error.maybe_stored is False


@pytest.mark.parametrize("said", UNKNOWN.values(), ids=UNKNOWN)
def test_an_append_that_a_proxy_gives_up_is_unknown(said: bytes) -> None:
    assert append(said).maybe_stored is True


def test_what_comes_after_an_answer_is_no_answer_to_the_next_request() -> None:
    stored = answer(wire.outcomes_to([spi.Appended(spi.Boundary(1, 1, 1))]))
    sealed = answer(wire.outcomes_to([spi.AppendRefused(tailrace.TopicSealedError("it has ended"))]))
    said = iter([stored + stored, sealed])
    with Scripted(lambda *_: next(said)) as server, tailrace.connect(server.url) as streams:
        streams.topic("t").append(b"x")
        with pytest.raises(tailrace.TopicSealedError):
            streams.topic("t").append(b"x")


@pytest.mark.parametrize("status", [b"503 Service Unavailable", b"429 Too Many Requests"])
def test_a_busy_server_is_not_asked_for_pages_before_the_time_that_it_says(
    monkeypatch: pytest.MonkeyPatch, status: bytes
) -> None:
    busy = answer(b"", status=status, kind=b"text/plain", more=b"retry-after: 86400\r\n")
    reads = [spi.ReadRequest("t", spi.Boundary(1, 0, 0), 10, 1000)]
    with Scripted(lambda *_: busy) as server:
        store = open_store(parse_url(server.url), StoreOptions())
        try:
            for _ in range(3):
                [outcome] = store.read(reads)
                assert isinstance(outcome, spi.ReadFailed)
            assert server.asked.count(wire.PATHS.read) == 1
            # Who asks once is not answered by what others were told.
            for _ in range(2):
                assert isinstance(store.append([spi.Entry("t", [b"x"])], 1.0)[0], spi.AppendRefused | spi.AppendUnknown)
            assert server.asked.count(wire.PATHS.append) == 2

            monkeypatch.setattr(pauses, "LONGEST", 0.0)
            store._calls.pauses.note(wire.PATHS.read, Head(503, {b"retry-after": b"86400"}))  # type: ignore[attr-defined]
            store.read(reads)
            assert server.asked.count(wire.PATHS.read) == 2
        finally:
            store.close()


def test_an_append_that_nobody_answers_is_unknown_at_its_timeout() -> None:
    assert append(None).maybe_stored is True


def test_an_append_that_nobody_listens_to_is_refused() -> None:
    with Scripted(lambda *_: None) as server:
        streams = tailrace.connect(server.url)
    with streams, pytest.raises(DurableStreamUnavailableError) as caught:
        streams.topic("t").append(b"x")
    assert caught.value.maybe_stored is False


@pytest.mark.parametrize("said", GARBAGE.values(), ids=GARBAGE)
def test_a_look_that_is_answered_by_garbage_is_an_error_of_ours(said: bytes) -> None:
    with talking_to(lambda *_: said, append_timeout=1.0) as streams:
        with pytest.raises(DurableStreamUnavailableError):
            streams.topic("t").subscribe_from_beginning()


def test_a_place_that_leads_elsewhere_is_told_once_and_not_followed() -> None:
    said = REFUSED["a redirect"][0]
    with Scripted(lambda *_: said) as server, tailrace.connect(server.url) as streams:
        with pytest.raises(StoreUnusableError, match="redirects"):
            streams.topic("t").subscribe_from_beginning()
        assert server.asked == [wire.PATHS.describe, wire.PATHS.bounds]


def test_a_reader_whose_pages_make_no_sense_ends_with_an_error_after_the_budget() -> None:
    place = spi.Boundary(1, 0, 0)
    bounds = answer(wire.bounds_to(spi.Bounds(place, spi.Boundary(1, 1, 1))))
    pages = {
        "no frame": b"\0\0\0\0",
        "huge": b"\xff" * 8,
        "half": wire.pack_pages([spi.Page([spi.StoredRecord(1, 1, b"x")], spi.Boundary(1, 1, 1))])[:-1],
        "none": wire.pack_pages([]),
        "two": wire.pack_pages([spi.PositionLost("a"), spi.PositionLost("b")]),
        "text": wire.frame("hello"),
    }
    for said in pages.values():
        with talking_to(
            lambda path, _, said=said: bounds if path == wire.PATHS.bounds else answer(said),  # type: ignore[misc]
            outage_budget=0.2,
        ) as streams:
            subscription = streams.topic("t").subscribe_from_beginning()
            with pytest.raises(DurableStreamUnavailableError):
                subscription.__enter__()


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (answer(b"<html>", kind=b"text/html"), "no Tailrace server"),
        (answer(b"no", status=b"404 Not Found", kind=b"text/html"), "check the URL"),
        (problem("unauthenticated", b"401 Unauthorized"), "as the server says"),
        (answer(b'{"protocol": 0, "release": "0.0.9"}'), "speaks protocol 0"),
        (answer(b'{"protocol": 1, "release": "1.0"}'), "makes no sense"),
        (answer(DESCRIBED_ANSWER[-20:]), "makes no sense"),
    ],
)
def test_what_is_no_server_of_this_release_is_refused_when_connecting(said: bytes, words: str) -> None:
    with Scripted(lambda *_: said) as server:
        # A path of its own, at which nothing is scripted.
        with no_leaks(pooled_files=2), pytest.raises(StoreUnusableError, match=words):
            tailrace.connect(f"{server.url}/elsewhere")


def test_a_server_that_is_away_is_told_when_connecting() -> None:
    with Scripted(lambda *_: None) as server:
        url = server.url
    with pytest.raises(DurableStreamUnavailableError, match="can not be reached"):
        tailrace.connect(url)


@pytest.mark.parametrize(
    "options",
    [
        {"retention": tailrace.Retention(max_records=1)},
        {"topic_retention": {"*": tailrace.Retention(max_records=1)}},
        {"tombstone_for": 5.0},
        {"forget_after": 5.0},
        {"create": True},
    ],
    ids=lambda options: next(iter(options)),
)
def test_what_the_server_decides_is_not_an_option_of_the_client(options: dict[str, object]) -> None:
    with pytest.raises(InvalidArgumentError, match="for the server to decide"):
        tailrace.connect("http://127.0.0.1:1", **options)  # type: ignore[arg-type]
