"""One answer of Server-Sent Events, from the right to it to its end; the same in our server and in applications.

Once a browser has been told anything but 200 it never comes back by itself. So who is to come back is answered with
200 and a time to wait, and what can be told only by a status (a request that is wrong, a stream that is over) is final.
"""

import asyncio
import contextlib
import random
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, Literal

from tailrace import aio
from tailrace.asgi import Offer, Send
from tailrace.errors import DurableStreamUnavailableError
from tailrace.records import TopicCursor
from tailrace.sse import wire
from tailrace.sse.stream import EventStream, Stop
from tailrace.sse.streams import Streams
from tailrace.sse.trunks import Channel
from tailrace.tokens import Opened, Tokens

HEADERS = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    # Neither stored nor compressed on the way: both would hold events back.
    (b"cache-control", b"no-store, no-transform"),
    (b"content-encoding", b"identity"),
    # nginx buffers whole answers unless it is told.
    (b"x-accel-buffering", b"no"),
)

PAUSE = 5.0
"""Seconds, about, that a client stays away that was one too many, or came while the store was away."""

Start = Literal["beginning", "tail"] | Opened
"""Where a stream starts: at an end of the topic, or after a token that was opened."""


@dataclass(frozen=True, slots=True)
class View:
    """What is streamed to whom.

    Attributes:
        topic: The topic.
        tokens: Seals the ids.
        start: Where it starts.
        text: Whether text goes as it is; if not, everything is base64.
        whose: Name that bounds are counted by.
        expires_at: Seconds since the epoch at which their right to it ends.
    """

    topic: aio.Topic
    tokens: Tokens
    start: Start
    text: bool = True
    whose: str = ""
    expires_at: float | None = None


async def serve(streams: Streams, view: View, send: Send, gone: Coroutine[Any, Any, None], offer: Offer | None) -> None:
    """Answer a request for events.

    Args:
        streams: Of this event loop.
        view: What is streamed.
        send: Of ASGI; nothing was sent yet.
        gone: Ends when the client has gone away.
        offer: Of the server, if it has one: writes what is live without waking a task for each reader.
    """
    if _is_over(view):
        gone.close()
        await serve_head(view, send)
        return
    if not streams.admits(view.whose):
        gone.close()
        await postpone(view, send)
        return
    channel = Channel(view.topic.name, view.tokens, view.text)
    stream = EventStream(streams.trunks, channel, view.topic, send, offer, streams.pulse, retry=streams.settings.retry)
    with streams.entered(stream, view.whose, expires_at=view.expires_at, tokens=view.tokens):
        # Before the start is asked for: a client that vanishes meanwhile must not be waited for.
        watching = asyncio.ensure_future(gone)
        watching.add_done_callback(lambda _: stream.stop(Stop.GONE))
        try:
            cursor, subscription = await _started(view)
        except DurableStreamUnavailableError:
            await postpone(view, send)
        else:
            # An OSError is how some servers say that the client has gone.
            with contextlib.suppress(OSError):
                await _begin(send)
                await stream.run(cursor, subscription)
        finally:
            watching.cancel()


async def serve_head(view: View, send: Send) -> None:
    """Answer a request that asks for the beginning only: a stream would hold the connection, and write nothing."""
    if _is_over(view):
        # The one answer at which an EventSource gives up.
        await send({"type": "http.response.start", "status": 204, "headers": list(HEADERS[1:])})
    else:
        await _begin(send)
    await send({"type": "http.response.body", "body": b""})


def _is_over(view: View) -> bool:
    return isinstance(view.start, Opened) and view.start.terminal


async def _started(view: View) -> tuple[TopicCursor, aio.Subscription | None]:
    """Return where the stream starts, and what reads from there if it had to be made to find that out."""
    if isinstance(view.start, Opened):
        return view.start.cursor, None
    if view.start == "tail":
        # One look at the store. Whoever else follows the topic reads for this one too.
        return await view.topic.checkpoint(), None
    subscription = await view.topic.subscribe_from_beginning()
    return subscription.cursor, subscription


async def _begin(send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": list(HEADERS)})


async def postpone(view: View, send: Send) -> None:
    """Answer a request for events with a time to come back at; nothing was sent yet."""
    await _begin(send)
    await send({"type": "http.response.body", "body": put_off(view.topic.name, view.tokens, view.start)})


def put_off(topic: str, tokens: Tokens, start: Start) -> bytes:
    """Return what has a client come back: with a new id, for nobody knows how often it is sent away, and ids expire."""
    pause = PAUSE if tokens.lifetime is None else min(PAUSE, tokens.lifetime / 4)
    pause *= random.uniform(0.5, 1.5)
    return wire.prime(tokens.seal(topic, start.cursor), pause) if isinstance(start, Opened) else wire.later(pause)
