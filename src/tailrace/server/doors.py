"""What a request must get past before anybody asks who sent it: bounds, hosts, proxies, origins. Plain ASGI, no I/O.

Browsers obey any page that a user visits. The host check stops a page whose name was pointed at this server, the
origin check one that sends without being able to read.
"""

import re
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from tailrace.asgi import Receive, Scope, Send
from tailrace.errors import InvalidArgumentError
from tailrace.server.answering import Answering
from tailrace.server.listening import is_loopback
from tailrace.server.problems import Problem
from tailrace.server.request import path_of
from tailrace.server.response import problem_response
from tailrace.server.workflow.refusals import PREFIX, refusal_response

ASGIApplication: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})

_PROXIED = frozenset(
    (b"forwarded", b"via", b"x-real-ip", b"x-client-ip", b"x-cluster-client-ip", b"true-client-ip", b"cf-connecting-ip",
     b"fastly-client-ip")
)  # fmt: skip
_PROXIED_LIKE = (b"x-forwarded", b"x-original-", b"x-envoy-")
_SAFE = ("GET", "HEAD", "OPTIONS")
_HOST = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*?)\.?(:[0-9]*)?")
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#\s]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What is let past.

    Attributes:
        hosts: Names that ``Host`` may have, without ports; ``None`` for any.
        origins: Of pages that may send requests from elsewhere; ``*`` for any.
        only_here: Whether requests of other machines, or passed on by a proxy, are refused: there is no authentication.
        max_url: Bytes in path and query.
        max_headers: How many headers.
        max_header_bytes: Bytes in all headers.
    """

    hosts: frozenset[str] | None = None
    origins: frozenset[str] = frozenset()
    only_here: bool = False
    max_url: int = 8192
    max_headers: int = 100
    max_header_bytes: int = 16 * 1024

    def __post_init__(self) -> None:
        for origin in self.origins - {"*"}:
            if not _ORIGIN.fullmatch(origin):
                raise InvalidArgumentError("an origin is a scheme and a host in lower case, as https://app.example.org")


class Doors:
    """Wraps an application; whatever it refuses is answered from an error table.

    Args:
        application: Gets what is let past.
        rules: What that is.
        statuses: Counts the answers to what is not.
    """

    def __init__(self, application: ASGIApplication, rules: Rules, statuses: Counter[int]) -> None:
        self._application = application
        self._rules = rules
        self._statuses = statuses

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "http":
            try:
                check(scope, self._rules)
            except Problem as problem:
                is_below = path_of(scope).startswith(PREFIX)
                response = refusal_response(problem) if is_below else problem_response(problem)
                await response.send(Answering(send, self._statuses))
                return
        await self._application(scope, receive, send)


def check(scope: Scope, rules: Rules) -> None:
    """Refuse a request that may not pass.

    Raises:
        Problem: Why.
    """
    hosts: list[bytes] = []
    origins: list[bytes] = []
    size, proxied = 0, False
    for name, value in scope["headers"]:
        size += len(name) + len(value)
        if name == b"host":
            hosts.append(value)
        elif name == b"origin":
            origins.append(value)
        elif name in _PROXIED or name.startswith(_PROXIED_LIKE):
            proxied = True
    if len(scope.get("raw_path") or scope["path"]) + len(scope["query_string"]) > rules.max_url:
        raise Problem("uri-too-long", f"path and query may have {rules.max_url} bytes")
    if len(scope["headers"]) > rules.max_headers or size > rules.max_header_bytes:
        raise Problem(
            "headers-too-large", f"there may be {rules.max_headers} headers of {rules.max_header_bytes} bytes in all"
        )
    if rules.only_here:
        _check_near(scope, proxied)
    _check_host(hosts, rules)
    if origins and scope["method"] not in _SAFE:
        _check_origin(origins, hosts, rules)


def _check_near(scope: Scope, proxied: bool) -> None:
    """Refuse what came from afar: whoever serves with another server may have bound it to any address."""
    client = scope.get("client")
    # A socket in the file system has no address: its permissions say who connects.
    is_far = client is not None and client[0] != "" and not is_loopback(client[0])
    if proxied or is_far:
        raise Problem("proxied-without-auth", "without authentication only this machine is served, and no proxy")


def _check_host(hosts: list[bytes], rules: Rules) -> None:
    if len(hosts) > 1:
        raise Problem("bad-host", "there is more than one Host")
    if rules.hosts is not None and not (hosts and _name_of(hosts[0]) in rules.hosts):
        raise Problem("bad-host", "this server is not configured for the host that was asked for")


def _check_origin(origins: list[bytes], hosts: list[bytes], rules: Rules) -> None:
    origin = origins[0].decode("latin-1").lower()
    if len(origins) == 1:
        if "*" in rules.origins or origin in rules.origins:
            return
        # A page of our own host; whether it was https, only a proxy that ends TLS would know.
        if hosts and hosts[0] and origin.partition("://")[2] == hosts[0].decode("latin-1").lower():
            return
    raise Problem("bad-origin", "pages of this origin may not send this")


def _name_of(host: bytes) -> str:
    """Return a host without its port, and without the dot that a full name may end with; nothing if it is none."""
    found = _HOST.fullmatch(host.decode("latin-1").lower())
    return found[1] if found else ""
