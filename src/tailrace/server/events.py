"""``GET events``: a topic as Server-Sent Events, for as long as the client stays.

Once a browser has been told anything but 200 it never comes back by itself. So who is to come back is answered with
200 and a time to wait, and what can be told only by a status (a request that is wrong, a stream that is over) is final.
"""

import asyncio
import contextlib
import random

from tailrace import aio
from tailrace.errors import CursorUnavailableError, DurableStreamUnavailableError
from tailrace.server.call import Call
from tailrace.server.response import Response
from tailrace.sse import EventStream, Stop, wire
from tailrace.sse.trunks import Channel
from tailrace.tokens import Opened, TokenKind

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


async def events(call: Call) -> Response | None:
    """Stream a topic's records from a start, or after the id that the client saw last."""
    query = call.request.only("start", "cursor", "encoding")
    text = call.request.choice("encoding", "text", "base64") == "text"
    # What the client saw last is newer than the address that it was given once.
    token = call.request.header(b"last-event-id") or query.get("cursor")
    opened = None if token is None else call.opened(token)
    if opened is not None and opened.terminal:
        return Response(204)
    streams = call.service.live
    if not streams.admits(call.principal):
        await _later(call, opened)
        return None
    settings = call.service.settings
    channel = Channel(call.name, call.tokens, text)
    stream = EventStream(
        call.service.trunks, channel, call.topic, call.send, heartbeat=settings.heartbeat, retry=settings.retry
    )
    with streams.entered(stream, call.principal):
        # Before the start is asked for: a client that vanishes meanwhile must not be waited for.
        gone = asyncio.ensure_future(call.request.disconnected())
        gone.add_done_callback(lambda _: stream.stop(Stop.GONE))
        try:
            subscription = await call.subscribe(query.get("start"), opened)
        except CursorUnavailableError as error:
            # Told in an event, as one that is lost later is: a browser can not read what comes with a status.
            assert opened is not None
            last = call.tokens.seal(call.name, opened.cursor, kind=TokenKind.GAP)
            await _told(call, wire.gap(last, str(error)))
        except DurableStreamUnavailableError:
            await _later(call, opened)
        else:
            # An OSError is how some servers say that the client has gone.
            with contextlib.suppress(OSError):
                await _run(call, stream, subscription)
        finally:
            gone.cancel()
    return None


async def _run(call: Call, stream: EventStream, subscription: aio.Subscription) -> None:
    try:
        await _start(call)
    except BaseException:
        subscription.close()
        raise
    # Closed by the stream from here on, and only if it is not what others follow by now.
    await stream.run(subscription)


async def _later(call: Call, opened: Opened | None) -> None:
    """Have a client come back: with a new id, because nobody knows how often it is sent away, and ids expire."""
    lifetime = call.service.settings.token_lifetime
    pause = PAUSE if lifetime is None else min(PAUSE, lifetime / 4)
    pause *= random.uniform(0.5, 1.5)
    await _told(call, wire.later(pause) if opened is None else wire.prime(call.token(opened.cursor), pause))


async def _start(call: Call) -> None:
    await call.send({"type": "http.response.start", "status": 200, "headers": list(HEADERS)})


async def _told(call: Call, body: bytes) -> None:
    await _start(call)
    await call.send({"type": "http.response.body", "body": body})
