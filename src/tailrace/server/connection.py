"""One connection of uvicorn's, with the bounds that it does not have: for what never ends, and what never comes.

A request that never becomes one is answered here, from the same table as all others; the application never sees it.
"""

import asyncio
import json
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from tailrace.asgi import OFFER
from tailrace.server.offering import Offering
from tailrace.server.problems import Problem
from tailrace.server.stall import Stall

MAX_HEAD = 32 * 1024
"""Bytes of a request before its body, when they have not ended: more than the application's own bounds together.

As many may come in a body without a byte of it: extensions of a chunk, and trailers.
"""
HEAD_TIMEOUT = 10.0
"""Seconds from a connection, or the first byte of a request, to the end of its head."""
LINGER = 2.0
"""Seconds in which a body may still arrive that nobody will read, so that its sender gets to read the answer."""


class Connection(HttpToolsProtocol):
    """Bounds heads in size and time, bodies that were answered before they ended, and what stands around them."""

    head_timeout = HEAD_TIMEOUT
    linger = LINGER

    def __init__(self, *args: Any, **given: Any) -> None:  # noqa: ANN401 - uvicorn's own
        super().__init__(*args, **given)
        self._head = 0
        self._in_head = False
        self._in_body = False
        self._bare = 0
        self._timer: asyncio.TimerHandle | None = None
        self._stall = Stall()
        # In the order of the requests. Uvicorn knows the last one only, and those that wait for their turn.
        self._unanswered: list[RequestResponseCycle] = []
        self._is_deaf = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expire(self.head_timeout)

    def connection_lost(self, exc: Exception | None) -> None:
        self._expire(None)
        self._stall.end()
        # Uvicorn tells it to the last request. One that is being answered before it, a stream for one, would go on.
        for cycle in self._unanswered:
            cycle.disconnected = not cycle.response_complete
            cycle.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_deaf:
            return
        self._bare += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._in_head:
            self._head += len(data)
            if self._head > MAX_HEAD:
                is_url = not self.headers and len(self.url) > MAX_HEAD // 2
                self._refuse(
                    Problem("uri-too-long" if is_url else "headers-too-large", "the request's head is too long")
                )
        elif self._in_body and self._bare > MAX_HEAD:
            self._refuse(Problem("headers-too-large", "there is too much around the request's body"))
        elif not (self._in_body or self._unanswered or self._timer):
            # The end of a body that was answered, or an empty line: for uvicorn the connection is idle no more.
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head, self._in_head = 0, True
        if self._timer is None:
            self._expire(self.head_timeout)

    def on_header(self, name: bytes, value: bytes) -> None:
        # A trailer is dropped. Among the headers, it would be one that a proxy before us did not see as such.
        if not self._in_body:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._expire(None)
        super().on_headers_complete()
        self._in_body, self._bare = True, 0
        self._unanswered.append(self.cycle)
        # In time: the task that was made just now has not begun to run.
        if self.scope["method"] == "GET":
            self.scope["extensions"] = {OFFER: Offering(self.cycle)}  # type: ignore[dict-item]

    def on_body(self, body: bytes) -> None:
        self._bare = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_body = False
        if not self._in_head:
            self._expire(None)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        del self._unanswered[0]
        super().on_response_complete()
        # What is being parsed may be a later request than the one that was answered.
        if self._in_body and self.cycle.response_complete and not self.transport.is_closing():
            self._expire(self.linger)

    def shutdown(self) -> None:
        super().shutdown()
        self._stall.hurry(self.transport)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stall.begin(self.transport)

    def resume_writing(self) -> None:
        self._stall.end()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        self._refuse(Problem("bad-request", "this is not a request in HTTP/1.1"))

    def _expire(self, after: float | None) -> None:
        """Close the connection after some seconds, or not. One timer: there is one thing to wait for."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if after is None else self.loop.call_later(after, self._expired)

    def _expired(self) -> None:
        self._timer = None
        if self.transport.is_closing():
            return
        if self._in_head:
            self._refuse(Problem("too-slow", "the request's head did not arrive in time"))
        else:
            self.transport.close()

    def _refuse(self, problem: Problem) -> None:
        """Answer and close, after the requests before it; only close where its answer is being written."""
        before = [cycle for cycle in self._unanswered if not (self._in_body and cycle is self.cycle)]
        if before:
            # What is sent now would be taken for the answer to the first of them, which may have been done.
            self._is_deaf, before[-1].keep_alive = True, False
            return
        if not (self._in_body and self.cycle.response_started):
            self.transport.write(_answer_of(problem, self.server_state.default_headers))
        self.transport.close()


def _answer_of(problem: Problem, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    body = json.dumps(problem.content).encode()
    status = problem.kind.status
    head = [
        b"HTTP/1.1 %d %s" % (status, HTTPStatus(status).phrase.encode()),
        *(name + b": " + value for name, value in headers),
        b"content-type: application/problem+json",
        b"cache-control: no-store",
        b"content-length: %d" % len(body),
        b"connection: close",
    ]
    return b"\r\n".join((*head, b"", body))
