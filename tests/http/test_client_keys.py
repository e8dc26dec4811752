"""Clients with access keys: in the URL or in the environment, and what the key does not allow."""

import asyncio
from collections.abc import Callable

import pytest
from tests.http.server import LocalServer

import tailrace
from tailrace import aio
from tailrace.errors import StoreUnusableError
from tailrace.server.access import AccessKey, AccessKeys, Chain, KeyGate
from tailrace.testing.reading import numbered, read_all


class Locked:
    """A server that lets in whoever holds one of its keys."""

    def __init__(self, server: LocalServer) -> None:
        self.server = server
        self.keys = AccessKeys()
        server.application._gate = Chain(keys=KeyGate(lambda: self.keys))

    def key(self, *scopes: str) -> str:
        text, key = AccessKey.fresh("worker", scopes)
        self.keys = self.keys.with_key(key)
        return text

    def url(self, key: str = "") -> str:
        return self.server.url.replace("http://", f"http://:{key}@") if key else self.server.url


@pytest.fixture
def locked(serve: Callable[..., LocalServer], monkeypatch: pytest.MonkeyPatch) -> Locked:
    monkeypatch.delenv("TAILRACE_KEY", raising=False)
    return Locked(serve("memory://"))


def test_a_key_in_the_url_lets_in_and_allows_what_it_says(locked: Locked) -> None:
    key = locked.key("append:run:*", "read:run:*")
    with tailrace.connect(locked.url(key)) as streams:
        streams.topic("run:1").append_many(numbered(3))
        assert read_all(streams.topic("run:1").subscribe_from_beginning(), 3) == numbered(3)
        with pytest.raises(StoreUnusableError, match="does not allow append"):
            streams.topic("other").append(b"x")
        with pytest.raises(StoreUnusableError, match="does not allow read"):
            streams.topic("other").subscribe_from_tail()
        with pytest.raises(StoreUnusableError, match="does not allow seal"):
            streams.topic("run:1").seal()
        assert key not in repr(streams._engine.backend)


def test_a_key_of_the_environment_lets_in(locked: Locked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAILRACE_KEY", locked.key("append:*"))
    with tailrace.connect(locked.url()) as streams:
        streams.topic("t").append(b"x")


@pytest.mark.parametrize("key", ["", "guessed", "trk_0123456789ab_guessed"])
def test_without_a_good_key_nobody_gets_in(locked: Locked, key: str) -> None:
    with pytest.raises(StoreUnusableError) as caught:
        tailrace.connect(locked.url(key))
    assert "guessed" not in str(caught.value)


def test_a_key_that_is_revoked_ends_what_needs_it(locked: Locked) -> None:
    with tailrace.connect(locked.url(locked.key("admin:*"))) as streams:
        streams.topic("t").append(b"x")
        locked.keys = AccessKeys()
        with pytest.raises(StoreUnusableError) as caught:
            streams.topic("t").append(b"y")
        assert caught.value.maybe_stored is False


async def _awaited(url: str) -> list[bytes]:
    async with await aio.connect(url) as streams:
        topic = streams.topic("t")
        start = await topic.checkpoint()
        await topic.append(b"x")
        async with await topic.subscribe_from_cursor(start) as subscription:
            record = await subscription.receive(20)
            assert isinstance(record, tailrace.DurableStreamRecord)
            return [record.payload]


def test_coroutines_use_the_same_url(locked: Locked) -> None:

    assert asyncio.run(_awaited(locked.url(locked.key("admin:*")))) == [b"x"]
