"""Hints for other processes: one long answer that says which of many topics may have moved.

It holds no state that another replica would miss: a stream that ends is opened anew, anywhere, and the client reads
what it follows once more.
"""

import asyncio
import time
from collections.abc import Callable

from tailrace import wire
from tailrace.aio.waker import waker_of
from tailrace.server.bell import Bell
from tailrace.server.call import Call
from tailrace.server.desk import MOST_TOPICS
from tailrace.server.listener import Listener
from tailrace.server.principals import Action
from tailrace.server.problems import Problem
from tailrace.server.response import Response
from tailrace.server.store.bodies import asked

SILENCE = 5.0
"""Seconds after which a line is sent in any case. The client takes a stream for broken that is silent for longer."""

CONFIRMS_WITHIN = 8.0
"""Seconds in which the store must have confirmed what is followed."""


async def watch(call: Call) -> Response | None:
    """Answer with hints for as long as the client wants them."""
    names = await asked(call, wire.topics_from)
    if len(names) > MOST_TOPICS:
        raise Problem("too-large", f"a stream may follow {MOST_TOPICS} topics")
    numbers: dict[str, list[int]] = {}
    for number, name in enumerate(names):
        # What it may not read it is told when it reads; the others are followed all the same.
        if call.principal.may(Action.READ, name):
            numbers.setdefault(name, []).append(number)
    bell, principal = call.service.desk.bell, call.principal
    if not call.service.live.admits(principal.name):
        raise Problem("overloaded", "there are as many streams as this server holds")
    listener = Listener(numbers, waker_of(asyncio.get_running_loop()))
    with call.service.live.entered(listener, principal.name, expires_at=principal.expires_at):
        gone = asyncio.ensure_future(call.request.disconnected())
        gone.add_done_callback(lambda _: listener.wake())
        try:
            bell.join(listener)
            await _confirmed(bell, listener, gone)
            await _stream(call, bell, listener, gone)
        finally:
            gone.cancel()
            bell.leave(listener)
    return None


async def _confirmed(bell: Bell, listener: Listener, gone: "asyncio.Future[None]") -> None:
    deadline = time.monotonic() + CONFIRMS_WITHIN
    while True:
        await _until(bell, listener, lambda: listener.confirmed or listener.end is not None or gone.done(), deadline)
        if listener.end is not None:
            raise Problem("unavailable", listener.end)
        if listener.confirmed or gone.done():
            return
        if time.monotonic() >= deadline:
            raise Problem("unavailable", "the store did not confirm what is followed in time")


async def _stream(call: Call, bell: Bell, listener: Listener, gone: "asyncio.Future[None]") -> None:
    headers = [(b"content-type", wire.ACCEPTED), (b"cache-control", b"no-store"), (b"x-accel-buffering", b"no")]
    await call.send({"type": "http.response.start", "status": 200, "headers": headers})
    while not gone.done():
        with bell.lock:
            hints = listener.take(SILENCE)
        more = hints.end is None
        await call.send({"type": "http.response.body", "body": wire.hints_to(hints), "more_body": more})
        if not more:
            return
        await _until(bell, listener, lambda: listener.has_news or gone.done(), time.monotonic() + SILENCE)


async def _until(bell: Bell, listener: Listener, reached: Callable[[], bool], deadline: float) -> None:
    """Wait until something is reached, which whoever wakes the listener brings about, or it is too late."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[None] = loop.create_future()
    with bell.lock:
        # Set before the look: whatever comes after it wakes us.
        listener.await_news(future)
        if reached():
            listener.await_news(None)
            return
    timer = loop.call_later(max(0.0, deadline - time.monotonic()), _resolve, future)
    try:
        await future
    finally:
        timer.cancel()
        with bell.lock:
            listener.await_news(None)


def _resolve(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
