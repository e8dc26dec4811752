"""The answers of ``wsgi`` and ``asgi`` as responses of Django, so that views, middleware and logins stay Django's.

Which of the two depends on how the project is served: a view that streams must be of the same colour as its server.
"""

import asyncio
from collections.abc import AsyncIterator, MutableMapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from django.http import StreamingHttpResponse
from typing_extensions import override

if TYPE_CHECKING:
    from django.core.handlers.asgi import ASGIRequest

    # Each needs an extra that the other one does not.
    from tailrace.integrations.asgi import EventStreamResponse
    from tailrace.integrations.wsgi import Events


def streaming(body: "Events") -> StreamingHttpResponse:
    """Return a response under WSGI. Django closes the stream when its client has gone."""
    return StreamingHttpResponse(body, status=int(body.status.partition(" ")[0]), headers=dict(body.headers))


async def astreaming(request: "ASGIRequest", answer: "EventStreamResponse") -> StreamingHttpResponse:
    """Return a response under ASGI, once it is known where the stream starts.

    Args:
        request: Of the view.
        answer: Made by ``EventStreams.response``, which takes ``starlette.requests.Request(request.scope)``.
    """
    chunks = _Chunks(request.scope, answer)
    status, headers = await chunks.start()
    return StreamingHttpResponse(chunks, status=status, headers=headers)


_TAKEN_WITHIN = 60.0
"""Seconds after which a stream ends whose client takes nothing."""


class _Chunks(AsyncIterator[bytes]):
    """What an ASGI response sends, for somebody who asks for it piece by piece. Of one event loop.

    A client may vanish when the view has returned and nothing was written yet: then Django forgets the response, and
    closes nothing. So nothing that the stream needs refers to this object, and with it the stream ends.
    """

    def __init__(self, scope: MutableMapping[str, Any], answer: "EventStreamResponse") -> None:
        # One, so that a stream waits for a client that takes nothing, as it would for its connection.
        messages: asyncio.Queue[MutableMapping[str, Any]] = asyncio.Queue(1)

        async def put(message: MutableMapping[str, Any]) -> None:
            async with asyncio.timeout(_TAKEN_WITHIN):
                await messages.put(message)

        self._messages = messages
        self._task = asyncio.ensure_future(answer(scope, _nothing, put))
        self._ended = False

    async def start(self) -> tuple[int, dict[str, str]]:
        message = await self._next()
        headers = {name.decode().title(): value.decode() for name, value in message["headers"]}
        return message["status"], headers

    @override
    async def __anext__(self) -> bytes:
        if self._ended:
            raise StopAsyncIteration
        message = await self._next()
        self._ended = not message.get("more_body", False)
        body: bytes = message.get("body", b"")
        return body

    def close(self) -> None:
        """Give up the stream. Idempotent; Django calls it at the end, perhaps in another thread."""
        self._ended = True
        if not self._task.done():
            with suppress(RuntimeError):
                # The loop may have been closed.
                self._task.get_loop().call_soon_threadsafe(self._task.cancel)

    def __del__(self) -> None:
        self.close()

    async def _next(self) -> MutableMapping[str, Any]:
        """Return the next message, or raise what has ended the answer without one."""
        getting = asyncio.ensure_future(self._messages.get())
        try:
            await asyncio.wait((getting, self._task), return_when=asyncio.FIRST_COMPLETED)
            if getting.done():
                return getting.result()
            if self._messages.empty():
                self._task.result()
                return {"body": b""}
            return self._messages.get_nowait()
        except BaseException:
            # Cancelled: that is how Django tells that the client has gone.
            self.close()
            raise
        finally:
            getting.cancel()


async def _nothing() -> MutableMapping[str, Any]:
    """Never tell that the client has gone: Django listens to that, and cancels."""
    never: asyncio.Future[MutableMapping[str, Any]] = asyncio.get_running_loop().create_future()
    return await never
