"""Requests as gates see them, without a server."""

from tailrace.asgi import Message
from tailrace.server.request import Request


def asked(
    path: bytes = b"/v1/topics/run%3A1/events",
    *,
    method: str = "GET",
    query: bytes = b"",
    headers: tuple[tuple[bytes, bytes], ...] = (),
    bearer: str | None = None,
) -> Request:
    """Return a request; with a bearer in its header, if one is given."""
    if bearer is not None:
        headers = (*headers, (b"authorization", b"Bearer " + bearer.encode()))
    scope = {
        "type": "http",
        "method": method,
        "path": path.decode(),
        "raw_path": path,
        "root_path": "",
        "query_string": query,
        "headers": list(headers),
        "client": ("127.0.0.1", 40000),
    }
    return Request(scope, _nothing)


async def _nothing() -> Message:
    raise AssertionError("a gate reads no body")
