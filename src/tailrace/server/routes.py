"""Every route but those of ``/api``: what answers a method on a path, and who may ask for it."""

import functools
import importlib.metadata
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple, TypeAlias

from tailrace.server import events, health, openapi, records, store, tickets, topics
from tailrace.server.call import Call
from tailrace.server.principals import Action
from tailrace.server.problems import Problem
from tailrace.server.request import topic_of
from tailrace.server.response import Response, json_response
from tailrace.server.workflow.openapi import add_to as describe_runs
from tailrace.wire import PATHS

TOPICS = "/v1/topics/"

Handler: TypeAlias = Callable[[Call], Awaitable[Response | None]]


class Route(NamedTuple):
    """What answers a method on a path.

    Attributes:
        action: What the principal must be allowed to do on the topic; ``None`` where the handler decides.
        handler: Answers; returns ``None`` if it has sent the answer itself.
        is_public: Whether nobody is asked who they are: for probes.
        is_whole: Whether the answer comes to an end by itself, so that there is a HEAD of it.
    """

    action: Action | None
    handler: Handler
    is_public: bool = False
    is_whole: bool = True


_TOPIC: Mapping[bytes, Mapping[str, Route]] = {
    # What stands after /v1/topics/{topic}.
    b"": {"GET": Route(Action.READ, topics.describe), "DELETE": Route(Action.ADMIN, topics.delete)},
    b"/records": {"POST": Route(Action.APPEND, records.append), "GET": Route(Action.READ, records.read)},
    b"/events": {"GET": Route(Action.READ, events.events, is_whole=False)},
    b"/checkpoint": {"POST": Route(Action.READ, topics.checkpoint)},
    b"/seal": {"POST": Route(Action.SEAL, topics.seal)},
}


async def _describe(call: Call) -> Response:
    """Answer with every route, as OpenAPI."""
    call.request.only()
    return _description(call.service.serves_runs)


@functools.cache
def _description(serves_runs: bool) -> Response:
    described = openapi.document(served(), importlib.metadata.version("tailrace"))
    if serves_runs:
        describe_runs(described)
    return json_response(described)


_FIXED: Mapping[bytes, Mapping[str, Route]] = {
    b"/openapi.json": {"GET": Route(None, _describe, is_public=True)},
    b"/v1/tickets": {"POST": Route(None, tickets.issue)},
    b"/healthz": {"GET": Route(None, health.alive, is_public=True)},
    b"/readyz": {"GET": Route(None, health.ready, is_public=True)},
    b"/metrics": {"GET": Route(None, health.metrics)},
    # Many topics in one request: each is checked by the handler.
    PATHS.describe: {"GET": Route(None, store.describe)},
    PATHS.append: {"POST": Route(None, store.append)},
    PATHS.read: {"POST": Route(None, store.read)},
    PATHS.bounds: {"POST": Route(None, store.bounds)},
    PATHS.seal: {"POST": Route(None, store.seal)},
    PATHS.watch: {"POST": Route(None, store.watch)},
    PATHS.topics: {"POST": Route(None, store.topics)},
    PATHS.trim: {"POST": Route(None, store.trim)},
    PATHS.delete: {"POST": Route(None, store.delete)},
    PATHS.sweep: {"POST": Route(None, store.sweep)},
}

_PREFIX = TOPICS.encode()


def find(method: str, path: bytes) -> tuple[Route, str]:
    """Return what answers a method on a path, and the topic in the path; empty where there is none.

    Raises:
        Problem: Nothing does.
    """
    routes, topic = _at(path)
    route = routes.get(method) or _without_body(method, routes)
    if route is None:
        allowed = ", ".join([*routes, "HEAD"] if _without_body("HEAD", routes) else routes).encode()
        raise Problem("method-not-allowed", f"{method} is not possible here", headers=((b"allow", allowed),))
    return route, topic


def _at(path: bytes) -> tuple[Mapping[str, Route], str]:
    """Return what is possible on a path, by method, and the topic in it.

    Raises:
        Problem: Nothing is there, or no store could keep that topic's name.
    """
    fixed = _FIXED.get(path)
    if fixed is not None:
        return fixed, ""
    if path.startswith(_PREFIX):
        segment, slash, rest = path[len(_PREFIX) :].partition(b"/")
        routes = _TOPIC.get(slash + rest)
        if routes is not None:
            return routes, topic_of(segment)
    raise Problem("not-found", "there is nothing at this path")


def _without_body(method: str, routes: Mapping[str, Route]) -> Route | None:
    """Return what answers HEAD: as GET, and servers leave the body out."""
    route = routes.get("GET") if method == "HEAD" else None
    return route if route is not None and route.is_whole else None


def served() -> list[openapi.Served]:
    """Return every route, as a client sees it."""
    found = [(f"{TOPICS}{{topic}}{tail.decode()}", routes) for tail, routes in _TOPIC.items()]
    found += [(path.decode(), routes) for path, routes in _FIXED.items()]
    return [openapi.Served(method, path, route.is_public) for path, routes in found for method, route in routes.items()]
