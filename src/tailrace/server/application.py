"""The ASGI application: from a request to what answers it, and from whatever that raises to the error table."""

import logging
from collections.abc import Iterable

from tailrace.asgi import Receive, Scope, Send
from tailrace.errors import DurableStreamError
from tailrace.instrument import Hook
from tailrace.options import EngineOptions
from tailrace.server.answering import Answering
from tailrace.server.call import Call
from tailrace.server.principals import NOBODY, Anybody, Gate
from tailrace.server.problems import Problem, problem_of
from tailrace.server.request import DisconnectedError, Request
from tailrace.server.response import Response, problem_response
from tailrace.server.routes import find
from tailrace.server.service import Service
from tailrace.server.settings import ServerSettings
from tailrace.server.workflow import ControlPlane
from tailrace.server.workflow.refusals import PREFIX
from tailrace.spi import Backend
from tailrace.tokens import KeyRing
from tailrace.workflow.embedded import EmbeddedService

logger = logging.getLogger("tailrace.server")


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
        route, topic = find(request.method, request.path)
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
