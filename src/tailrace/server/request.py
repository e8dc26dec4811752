"""One request: its parts, checked as they are asked for. Reads the body, and writes nothing."""

import asyncio
import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, quote, unquote_to_bytes

from tailrace.arguments import topic_name
from tailrace.asgi import OFFER, Offer, Receive, Scope
from tailrace.errors import InvalidTopicNameError
from tailrace.server.problems import Problem

_NUMBER = re.compile(r"[0-9.eE+-]+")


class DisconnectedError(Exception):
    """The client went away; there is nobody to answer."""


class Request:
    """What a client asked. Of one task."""

    __slots__ = ("_headers", "_query", "_receive", "method", "path", "scope")

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.scope = scope
        self.method: str = scope["method"]
        self.path = path_of(scope)
        self._receive = receive
        self._headers: dict[bytes, bytes] | None = None
        self._query: dict[str, str] | None = None

    @property
    def query(self) -> Mapping[str, str]:
        """The parameters after the question mark.

        Raises:
            Problem: One is given twice, or is no UTF-8.
        """
        if self._query is None:
            try:
                pairs = parse_qsl(self.scope["query_string"].decode("ascii"), keep_blank_values=True, errors="strict",
                                  max_num_fields=32)  # fmt: skip
            except ValueError:
                raise Problem(
                    "bad-request", "the query is not percent-encoded UTF-8, or has too many parameters"
                ) from None
            self._query = dict(pairs)
            if len(self._query) != len(pairs):
                raise Problem("bad-request", "a parameter is given twice")
        return self._query

    def only(self, *known: str) -> Mapping[str, str]:
        """Return the parameters, if there are no others than these and those of credentials.

        Raises:
            Problem: There are: a mistyped one must not be taken for none.
        """
        unknown = self.query.keys() - {*known, "ticket"}
        if unknown:
            named = ", ".join(known) or "none"
            raise Problem("bad-request", f"there is no parameter of that name here; known: {named}")
        return self.query

    def header(self, name: bytes) -> str | None:
        """Return a header, by its name in lower case."""
        if self._headers is None:
            self._headers = dict(reversed(self.scope["headers"]))
        value = self._headers.get(name)
        return None if value is None else value.decode("latin-1")

    @property
    def offer(self) -> Offer | None:
        """What writes parts of the answer without its task, if the server can."""
        extensions: Mapping[str, Offer] = self.scope.get("extensions") or {}
        return extensions.get(OFFER)

    @property
    def headers(self) -> Mapping[str, str]:
        """All headers, by their names in lower case; of one that came twice, the first."""
        return {name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(self.scope["headers"])}

    def count(self, name: str, default: int, *, at_least: int = 1, at_most: int) -> int:
        """Return a parameter that is a whole number."""
        text = self.query.get(name)
        if text is None:
            return default
        if not (text.isascii() and text.isdigit() and len(text) < 10 and at_least <= int(text) <= at_most):
            raise Problem("bad-request", f"{name} must be a whole number from {at_least} to {at_most}")
        return int(text)

    def seconds(self, name: str, default: float, *, at_most: float) -> float:
        """Return a parameter that is a number of seconds; more than the bound is cut to it."""
        text = self.query.get(name)
        if text is None:
            return default
        try:
            # Python takes spaces and underscores, too.
            value = float(text) if len(text) < 20 and _NUMBER.fullmatch(text) else -1.0
        except ValueError:
            value = -1.0
        if not 0 <= value < float("inf"):
            raise Problem("bad-request", f"{name} must be a number of seconds, 0 or more")
        return min(value, at_most)

    def choice(self, name: str, default: str, *known: str) -> str:
        """Return a parameter that has one of some values; the default is one of them."""
        value = self.query.get(name, default)
        if value not in (default, *known):
            raise Problem("bad-request", f"{name} must be one of {', '.join(dict.fromkeys((default, *known)))}")
        return value

    async def body(self, *, limit: int, within: float) -> bytes:
        """Return the body.

        Raises:
            Problem: It is larger than ``limit`` bytes, or took longer than ``within`` seconds.
            DisconnectedError: It never came to its end.
        """
        declared = self.header(b"content-length")
        if declared is not None and declared.isdecimal() and (len(declared) > 18 or int(declared) > limit):
            raise _too_large(limit)
        parts, size = [], 0
        try:
            # Also for the first part: a client that sends none at all must not be waited for.
            async with asyncio.timeout(within):
                message = await self._receive()
                if message["type"] == "http.request" and not message.get("more_body"):
                    return _within(message.get("body", b""), limit)
                while True:
                    if message["type"] != "http.request":
                        raise DisconnectedError
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > limit:
                        raise _too_large(limit)
                    if not message.get("more_body"):
                        return b"".join(parts)
                    message = await self._receive()
        except TimeoutError:
            raise Problem("too-slow", f"the body did not arrive within {within:g} seconds") from None

    async def disconnected(self) -> None:
        """Return once the client is gone. The body must have been read."""
        while (await self._receive())["type"] != "http.disconnect":
            pass


def path_of(scope: Scope) -> bytes:
    """Return the path as it was sent: decoded, it does not tell a slash in a name from one between segments."""
    raw: bytes | None = scope.get("raw_path")
    root = scope.get("root_path", "").encode()
    # What a server has decoded is encoded again: it is to be decoded once.
    path = quote(scope["path"]).encode() if raw is None else raw.partition(b"?")[0]
    return path[len(root) :] if root and path.startswith(root + b"/") else path


def topic_of(segment: bytes) -> str:
    """Return the topic that a segment of a path names.

    Raises:
        Problem: No store could keep that name.
    """
    try:
        return topic_name(unquote_to_bytes(segment).decode())
    except UnicodeDecodeError:
        raise Problem("bad-topic", "a topic name must be percent-encoded UTF-8") from None
    except InvalidTopicNameError as error:
        raise Problem("bad-topic", str(error)) from None


def _within(body: bytes, limit: int) -> bytes:
    if len(body) > limit:
        raise _too_large(limit)
    return body


def _too_large(limit: int) -> Problem:
    # Without "connection: close": the connection would be reset under a client that still sends. It is given some time
    # to come to its end, and read this.
    return Problem("too-large", f"the body is over the limit of {limit} bytes")
