"""Answers every request below ``/api``: the checks in their order, the handler, and whatever it ends with."""

import logging

from tailrace.asgi import Send
from tailrace.errors import DurableStreamError
from tailrace.server.answering import Answering
from tailrace.server.principals import Gate
from tailrace.server.problems import Problem
from tailrace.server.request import DisconnectedError, Request
from tailrace.server.response import Response
from tailrace.server.roles import Role
from tailrace.server.service import Service
from tailrace.server.workflow import checks, routes
from tailrace.server.workflow.call import Call
from tailrace.server.workflow.identities import right_to_read
from tailrace.server.workflow.refusals import Refusal, refusal_response
from tailrace.server.workflow.shared import Shared
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.errors import WorkflowStreamError

logger = logging.getLogger("tailrace.server")


class ControlPlane:
    """The routes of Workflow Streams. Of one event loop.

    Args:
        core: What the rest of the server shares too.
        gate: Who is let in.
        service: The operations; released with ``close``.
    """

    def __init__(self, core: Service, gate: Gate, service: EmbeddedService) -> None:
        self._shared = Shared(core, service)
        self._gate = gate

    def begin(self) -> None:
        """Do what is done in the background. Idempotent; not before a fork, whose child would not inherit it."""
        self._shared.begin()

    async def answer(self, request: Request, send: Send) -> None:
        """Answer one request."""
        # For servers that do not say when they start.
        self.begin()
        answering = Answering(send, self._shared.core.statuses)
        try:
            response = await self._respond(request, answering)
        except DisconnectedError:
            return
        except (Refusal, Problem, DurableStreamError) as error:
            response = refusal_response(error)
        except Exception:
            logger.exception("a request failed that should not have")
            response = refusal_response(Problem("internal", "the server failed"))
        # Once an answer has begun nothing can be taken back; the server cuts the connection.
        if response is not None and not answering.begun:
            await response.send(answering)

    async def close(self) -> None:
        """Release the operations. Idempotent, never raises."""
        await self._shared.close()

    async def _respond(self, request: Request, send: Send) -> Response | None:
        found = routes.find(request.path)
        route = found.routes.get(request.method)
        if route is None:
            allowed = ", ".join(found.routes).encode()
            raise Refusal(
                "method_not_allowed", f"{request.method} is not possible here", headers=((b"allow", allowed),)
            )
        if route.carries_payload:
            checks.check_size(request, self._shared.max_payload, checks.oversized)
        else:
            checks.check_size(request, self._shared.max_request, checks.too_large)
        principal = self._gate.admit(request)
        namespace = checks.namespace_in(request)
        call = Call(self._shared, request, principal, namespace, found.segments, send)
        if route.roles is not None and not (route.ticketed and _has_ticket(call)):
            checks.check_role(principal, namespace, route.roles)
        if route.versioned:
            checks.check_version(request, workers=Role.WORKER in (route.roles or ()))
        if route.namespaced:
            checks.check_namespace(namespace, self._shared.namespaces)
        return await route.handler(call)


def _has_ticket(call: Call) -> bool:
    """Return whether somebody came with a ticket for just the stream that is asked for."""
    try:
        return right_to_read(call.stream) in call.principal.rights
    except WorkflowStreamError:
        # Told later, to those who have a role.
        return False
