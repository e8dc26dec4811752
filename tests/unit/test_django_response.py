"""A stream as a response of Django's, without a server: it ends with the response, whatever becomes of that."""

import asyncio
import gc
from types import SimpleNamespace
from typing import Any

import pytest

from tailrace.integrations import django
from tailrace.integrations.django import astreaming

REQUEST: Any = SimpleNamespace(scope={"type": "http"})
HEADERS = [(b"content-type", b"text/event-stream; charset=utf-8")]


class Answer:
    """Sends some bodies, then goes on until it is ended."""

    def __init__(self, *bodies: bytes, goes_on: bool = True) -> None:
        self.ended = asyncio.Event()
        self._bodies = bodies
        self._goes_on = goes_on

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
            for body in self._bodies:
                await send({"type": "http.response.body", "body": body, "more_body": True})
            if self._goes_on:
                await receive()
            await send({"type": "http.response.body", "body": b"end"})
        finally:
            self.ended.set()


def test_what_is_sent_is_streamed() -> None:
    async def scene() -> list[bytes]:
        response = await astreaming(REQUEST, Answer(b"a", b"b", goes_on=False))
        assert response.headers["Content-Type"] == "text/event-stream; charset=utf-8"
        return [part async for part in response.streaming_content]

    assert asyncio.run(scene()) == [b"a", b"b", b"end"]


def test_a_response_that_is_forgotten_ends_its_stream() -> None:
    async def scene() -> None:
        answer = Answer()
        response = await astreaming(REQUEST, answer)
        del response
        gc.collect()
        await asyncio.wait_for(answer.ended.wait(), 10)

    asyncio.run(scene())


def test_a_response_that_is_closed_ends_its_stream() -> None:
    async def scene() -> None:
        answer = Answer(b"a")
        response = await astreaming(REQUEST, answer)
        assert await anext(aiter(response.streaming_content)) == b"a"
        await asyncio.to_thread(response._resource_closers[0])
        await asyncio.wait_for(answer.ended.wait(), 10)

    asyncio.run(scene())


def test_a_client_that_takes_nothing_for_long_ends_its_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(django, "_TAKEN_WITHIN", 0.01)

    async def scene() -> None:
        answer = Answer(b"a", b"b", b"c")
        response = await astreaming(REQUEST, answer)
        await asyncio.wait_for(answer.ended.wait(), 10)
        assert not response.closed
        with pytest.raises(TimeoutError):
            [part async for part in response.streaming_content]

    asyncio.run(scene())


def test_an_answer_that_fails_before_it_begins_fails_the_view() -> None:
    async def fails(scope: Any, receive: Any, send: Any) -> None:
        raise KeyError("no topic")

    async def scene() -> None:
        with pytest.raises(KeyError):
            await astreaming(REQUEST, fails)

    asyncio.run(scene())
