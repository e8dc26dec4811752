"""One connection of uvicorn's, with the bounds that it does not have: a head that never ends, one that never comes.

A request that never becomes one is answered here, from the same table as all others; the application never sees it.
"""

import asyncio
import json
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tailrace.asgi import OFFER
from tailrace.server.offering import Offering
from tailrace.server.problems import Problem

MAX_HEAD = 32 * 1024
"""Bytes of a request before its body, when they have not ended: more than the application's own bounds together."""
HEAD_TIMEOUT = 10.0
"""Seconds from a connection, or the first byte of a request, to the end of its head."""
LINGER = 2.0
"""Seconds in which a body may still arrive that nobody will read, so that its sender gets to read the answer."""


class Connection(HttpToolsProtocol):
    """Bounds heads in size and time, and bodies that were answered before they ended."""

    head_timeout = HEAD_TIMEOUT
    linger = LINGER

    def __init__(self, *args: Any, **given: Any) -> None:  # noqa: ANN401 - uvicorn's own
        super().__init__(*args, **given)
        self._head = 0
        self._in_head = False
        self._in_body = False
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expire(self.head_timeout)

    def connection_lost(self, exc: Exception | None) -> None:
        self._expire(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._in_head:
            self._head += len(data)
            if self._head > MAX_HEAD and not self.transport.is_closing():
                is_url = not self.headers and len(self.url) > MAX_HEAD // 2
                self._refuse(
                    Problem("uri-too-long" if is_url else "headers-too-large", "the request's head is too long")
                )

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head, self._in_head = 0, True
        if self._timer is None:
            self._expire(self.head_timeout)

    def on_headers_complete(self) -> None:
        self._in_head, self._in_body = False, True
        self._expire(None)
        super().on_headers_complete()
        # In time: the task that was made just now has not begun to run.
        if self.scope["method"] == "GET":
            self.scope["extensions"] = {OFFER: Offering(self.cycle)}  # type: ignore[dict-item]

    def on_message_complete(self) -> None:
        self._in_body = False
        if not self._in_head:
            self._expire(None)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        # What is being parsed may be a later request than the one that was answered.
        if self._in_body and self.cycle.response_complete and not self.transport.is_closing():
            self._expire(self.linger)

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
        """Answer and close; only close where an answer to an earlier request is being written."""
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            body = json.dumps(problem.content).encode()
            status = problem.kind.status
            head = [
                b"HTTP/1.1 %d %s" % (status, HTTPStatus(status).phrase.encode()),
                *(name + b": " + value for name, value in self.server_state.default_headers),
                b"content-type: application/problem+json",
                b"cache-control: no-store",
                b"content-length: %d" % len(body),
                b"connection: close",
            ]
            self.transport.write(b"\r\n".join((*head, b"", body)))
        self.transport.close()
