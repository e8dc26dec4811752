"""Server-Sent Events from a Starlette or FastAPI application: a response for each request, and what they share.

Needs the extra ``server`` (of it, Starlette and cryptography).
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.requests import Request
from starlette.responses import Response
from typing_extensions import override

from tailrace import aio
from tailrace.asgi import Receive, Scope, Send
from tailrace.errors import InvalidArgumentError, InvalidTypeError
from tailrace.integrations.signals import heard
from tailrace.sse import Start, Streams, StreamSettings, View, serve, serve_head
from tailrace.tokens import Tokens


class EventStreams:
    """The event streams of one application and event loop. Make one when the application starts.

    Your application decides who may read what, before it makes a response.

    Args:
        settings: Bounds and times; see :class:`StreamSettings`.
    """

    def __init__(self, settings: StreamSettings | None = None) -> None:
        self._streams = Streams(settings or StreamSettings())

    @property
    def count(self) -> int:
        """How many streams there are."""
        return self._streams.count

    def response(
        self,
        request: Request,
        topic: aio.Topic,
        tokens: Tokens,
        *,
        start: str = "tail",
        cursor: str | None = None,
        base64: bool = False,
        whose: str = "",
        expires_at: float | None = None,
    ) -> "EventStreamResponse":
        """Return a response that streams a topic to this client.

        A client that comes back sends the id that it saw last (``Last-Event-ID``), which beats the other two.

        Args:
            request: Whose headers are looked at.
            topic: Of ``tailrace.aio``, in this event loop.
            tokens: Seals and opens ids. Readers of the same object share events, so keep one per tenant.
            start: ``"beginning"`` or ``"tail"``: for a client that has no token.
            cursor: A token that the client was given, in the address of the stream for one.
            base64: Whether all payloads go as base64, and not only those that are no text.
            whose: Name that ``max_streams_each`` is counted by.
            expires_at: Seconds since the epoch at which the stream ends, to be resumed with another credential.

        Raises:
            InvalidTokenError: What the client came with is not a token of this topic: answer 400.
            InvalidArgumentError: ``start`` is neither of the two.
        """
        if not isinstance(topic, aio.Topic):
            raise InvalidTypeError(f"topic must be one of tailrace.aio, not {type(topic).__name__}")
        begin: Start
        token = request.headers.get("last-event-id") or cursor
        if token is not None:
            begin = tokens.open(topic.name, token)
        elif start == "beginning":
            begin = "beginning"
        elif start == "tail":
            begin = "tail"
        else:
            raise InvalidArgumentError("start must be beginning or tail; a token goes into cursor")
        return EventStreamResponse(self._streams, View(topic, tokens, begin, not base64, whose, expires_at))

    def drain(self) -> None:
        """End every stream for its client to come back, and begin no more. Idempotent; in the loop's thread.

        Servers wait for open responses before they shut an application down: call this when the signal comes, or have
        ``drained_by_signals`` do it.
        """
        self._streams.drain()

    @contextmanager
    def drained_by_signals(self) -> Iterator[None]:
        """While the block lasts, SIGTERM and Ctrl-C drain the streams, and then do what they did before.

        For the lifespan of an application, around its ``yield``: the server has set its own handlers by then. In
        threads other than the main one, which gets no signals, this does nothing; nor where a server's workers are told
        to end without one, as those of hypercorn are.
        """
        loop = asyncio.get_running_loop()
        with heard(lambda: loop.call_soon_threadsafe(self.drain)):
            yield


class EventStreamResponse(Response):
    """A response that goes on until its topic ends, the client leaves, or is to come back."""

    media_type = "text/event-stream"

    def __init__(self, streams: Streams, view: View) -> None:
        super().__init__()
        self._streams = streams
        self._view = view

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream. The headers are those that streams need; others that were set here are left out."""
        if scope["method"] == "HEAD":
            await serve_head(self._view, send)
        else:
            # Nothing is offered past ``send``: middleware of the application may have put its own in its place.
            await serve(self._streams, self._view, send, _gone(receive), None)
        if self.background is not None:
            await self.background()


async def _gone(receive: Receive) -> None:
    """Return once the client has gone away. A body that nobody read is dropped."""
    while (await receive())["type"] != "http.disconnect":
        pass
