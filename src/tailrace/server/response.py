"""A whole answer, and sending it."""

import json
from typing import NamedTuple

from tailrace.asgi import Send
from tailrace.server.problems import Problem

JSON = b"application/json"
NEVER_STORED = (b"cache-control", b"no-store")
"""Nothing that is answered about a topic may come from a cache: that would hide what was lost since."""


class Response(NamedTuple):
    """A status, a body and headers."""

    status: int
    body: bytes = b""
    content_type: bytes = JSON
    headers: tuple[tuple[bytes, bytes], ...] = ()

    async def send(self, send: Send) -> None:
        """Send it."""
        headers = [NEVER_STORED, *self.headers]
        if self.status != 204:
            headers += [(b"content-type", self.content_type), (b"content-length", b"%d" % len(self.body))]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


def json_response(content: object, status: int = 200) -> Response:
    """Return an answer in JSON."""
    return Response(status, json.dumps(content, ensure_ascii=False).encode())


def problem_response(problem: Problem) -> Response:
    """Return an answer of the error table."""
    headers = problem.headers
    if problem.kind.status == 503 and problem.kind.retryable:
        headers += ((b"retry-after", b"1"),)
    if problem.kind.status == 401:
        headers += ((b"www-authenticate", b"Bearer"),)
    return Response(problem.kind.status, json.dumps(problem.content).encode(), b"application/problem+json", headers)
