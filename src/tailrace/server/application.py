"""The ASGI application: from a path to what answers it, and from whatever it raises to the error table."""

import functools
import importlib.metadata
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import NamedTuple, TypeAlias

from tailrace.asgi import Receive, Scope, Send
from tailrace.errors import DurableStreamError
from tailrace.instrument import Hook
from tailrace.options import EngineOptions
from tailrace.server import events, health, openapi, records, store, tickets, topics
from tailrace.server.answering import Answering
from tailrace.server.call import Call
from tailrace.server.principals import NOBODY, Action, Anybody, Gate
from tailrace.server.problems import Problem, problem_of
from tailrace.server.request import DisconnectedError, Request, topic_of
from tailrace.server.response import Response, json_response, problem_response
from tailrace.server.service import Service
from tailrace.server.settings import ServerSettings
from tailrace.server.workflow import ControlPlane
from tailrace.server.workflow.openapi import add_to as describe_runs
from tailrace.server.workflow.refusals import PREFIX
from tailrace.spi import Backend
from tailrace.tokens import KeyRing
from tailrace.wire import PATHS
from tailrace.workflow.embedded import EmbeddedService

logger = logging.getLogger("tailrace.server")

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


def served() -> list[openapi.Served]:
    """Return every route, as a client sees it."""
    found = [(f"{TOPICS}{{topic}}{tail.decode()}", routes) for tail, routes in _TOPIC.items()]
    found += [(path.decode(), routes) for path, routes in _FIXED.items()]
    return [openapi.Served(method, path, route.is_public) for path, routes in found for method, route in routes.items()]


class Application:
    """Serves one store. Make it before or in the event loop that runs it.

    Args:
        backend: The store; closed when the server ends (ASGI lifespan), or by ``close``.
        ring: Keys of resume tokens, the same ones in all replicas.
        gate: Who is let in; everybody by default, so bind to loopback.
        settings: Bounds and times.
        options: Of the engine.
        hooks: Called with what happens in the engine.
        workflow: Of runs in the same store, served below ``/api`` and closed with the rest.
    """

    def __init__(
        self,
        backend: Backend,
        ring: KeyRing,
        *,
        gate: Gate | None = None,
        settings: ServerSettings | None = None,
        options: EngineOptions | None = None,
        hooks: Iterable[Hook] = (),
        workflow: EmbeddedService | None = None,
    ) -> None:
        self.service = Service(backend, ring, settings or ServerSettings(), options=options, hooks=hooks)
        self._gate = gate or Anybody()
        self.service.serves_runs = workflow is not None
        self._plane = None if workflow is None else ControlPlane(self.service, self._gate, workflow)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or follow the server's life."""
        if scope["type"] == "http":
            request = Request(scope, receive)
            if self._plane is not None and request.path.startswith(PREFIX):
                await self._plane.answer(request, send)
            else:
                await self._answer(request, send)
        elif scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            # The one message that refuses a web socket before it is accepted.
            await receive()
            await send({"type": "websocket.close", "code": 1003})

    def drain(self) -> None:
        """End every stream, for its client to come back to another replica or later; begin no more. Idempotent.

        In the event loop's thread. To be called when the server is told to end: servers wait for open responses before
        they say so themselves.
        """
        self.service.live.drain()

    async def close(self) -> None:
        """End every stream, to be resumed elsewhere, and release the store. Idempotent, never raises."""
        if self._plane is not None:
            # What waits there is ended by a drain.
            self.drain()
            await self._plane.close()
        await self.service.close()

    async def _answer(self, request: Request, send: Send) -> None:
        answering = Answering(send, self.service.statuses)
        try:
            response = await self._respond(request, answering)
        except DisconnectedError:
            return
        except Problem as problem:
            response = problem_response(problem)
        except Exception:
            logger.exception("a request failed that should not have")
            response = problem_response(Problem("internal", "the server failed"))
        # Once an answer has begun nothing can be taken back; the server cuts the connection.
        if response is not None and not answering.begun:
            await response.send(answering)

    async def _respond(self, request: Request, send: Send) -> Response | None:
        routes, topic = _routes(request.path)
        route = routes.get(request.method) or _without_body(request.method, routes)
        if route is None:
            allowed = ", ".join([*routes, "HEAD"] if _without_body("HEAD", routes) else routes).encode()
            raise Problem(
                "method-not-allowed", f"{request.method} is not possible here", headers=((b"allow", allowed),)
            )
        principal = NOBODY if route.is_public else self._gate.admit(request)
        if route.action is not None:
            principal.require(route.action, topic)
        try:
            return await route.handler(Call(self.service, request, principal, topic, send))
        except DurableStreamError as error:
            raise problem_of(error, in_confidence=principal.trusted) from error

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                if self._plane is not None:
                    self._plane.begin()
                await send({"type": "lifespan.startup.complete"})
            else:
                await self.close()
                await send({"type": "lifespan.shutdown.complete"})
                return


def _without_body(method: str, routes: Mapping[str, Route]) -> Route | None:
    """Return what answers HEAD: as GET, and servers leave the body out."""
    route = routes.get("GET") if method == "HEAD" else None
    return route if route is not None and route.is_whole else None


def _routes(path: bytes) -> tuple[Mapping[str, Route], str]:
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
