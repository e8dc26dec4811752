"""The table of routes below ``/api``, and finding the one that a path means. Pure.

A path is taken apart before anything in it is decoded, so that an id may hold a slash, as ``%2F``.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple, TypeAlias

from tailrace.server.request import Request
from tailrace.server.response import Response
from tailrace.server.roles import Role
from tailrace.server.workflow import discovery, events, items, payloads, runs, streams, tickets
from tailrace.server.workflow.call import Call
from tailrace.server.workflow.checks import namespace_in
from tailrace.server.workflow.identities import stream_of
from tailrace.server.workflow.refusals import Refusal
from tailrace.workflow.model import StreamRef
from tailrace.workflow.payloads.transport import PATH

Handler: TypeAlias = Callable[[Call], Awaitable[Response | None]]

EVERYBODY = frozenset(Role)
CONTROL = frozenset({Role.OPERATOR, Role.ADMIN})


class Route(NamedTuple):
    """What answers a method on a path.

    Attributes:
        handler: Answers; returns ``None`` if it has sent the answer itself.
        roles: Who may; ``None`` for everybody who was let in.
        versioned: Whether a client has to say which contract it speaks; workers, where they may, which protocol.
        namespaced: Whether there must be the namespace that is asked for.
        ticketed: Whether a ticket for the stream will do instead of a role.
        carries_payload: Whether a body is a payload, which may be larger than other requests.
    """

    handler: Handler
    roles: frozenset[Role] | None = CONTROL
    versioned: bool = True
    namespaced: bool = True
    ticketed: bool = False
    carries_payload: bool = False


_RUN = "/api/workflows/{workflow_id}/runs/{run_id}"
_STREAM = f"{_RUN}/streams/{{stream_name}}"

ROUTES: Mapping[str, Mapping[str, Route]] = {
    "/api/cluster/info": {"GET": Route(discovery.info, roles=None, versioned=False, namespaced=False)},
    "/api/workflows": {"POST": Route(runs.start)},
    "/api/workflows/{workflow_id}": {"GET": Route(runs.describe_workflow)},
    _RUN: {"GET": Route(runs.describe), "DELETE": Route(runs.delete, roles=frozenset({Role.ADMIN}))},
    f"{_RUN}/end": {"POST": Route(runs.end)},
    f"{_RUN}/streams": {"GET": Route(streams.list_streams)},
    _STREAM: {"GET": Route(streams.describe)},
    f"{_STREAM}/items": {"GET": Route(items.subscribe), "POST": Route(streams.append)},
    f"{_STREAM}/close": {"POST": Route(streams.close)},
    f"{_STREAM}/lease": {"POST": Route(streams.renew)},
    # A browser sends no headers of ours.
    f"{_STREAM}/events": {"GET": Route(events.events, versioned=False, ticketed=True)},
    f"{_STREAM}/tickets": {"POST": Route(tickets.issue)},
    PATH: {"POST": Route(payloads.upload, roles=EVERYBODY, carries_payload=True)},
    f"{PATH}/{{reference_id}}": {"GET": Route(payloads.fetch, roles=EVERYBODY)},
}


class Found(NamedTuple):
    """What is possible on a path, by method, and what stands in it for the placeholders, still percent-encoded."""

    routes: Mapping[str, Route]
    segments: Mapping[str, bytes]


def find(path: bytes) -> Found:
    """Return what a path means.

    Raises:
        Refusal: ``not_found``.
    """
    parts = path.split(b"/")
    for template, routes in _BY_LENGTH.get(len(parts), ()):
        segments: dict[str, bytes] = {}
        for wanted, part in zip(template, parts, strict=True):
            if wanted.startswith(b"{"):
                segments[wanted[1:-1].decode()] = part
            elif wanted != part:
                break
        else:
            if all(segments.values()):
                return Found(routes, segments)
    raise Refusal("not_found", "there is nothing at this path")


def stream_with_ticket(request: Request) -> StreamRef | None:
    """Return the stream that is asked for where a ticket for it will do; ``None`` if something else is.

    Raises:
        Refusal: ``not_found``.
        Problem: There are two namespaces.
        InvalidFieldsError, InvalidStreamNameError: There can be no such stream.
    """
    found = find(request.path)
    route = found.routes.get(request.method)
    return stream_of(namespace_in(request), found.segments) if route is not None and route.ticketed else None


def _by_length() -> Mapping[int, list[tuple[list[bytes], Mapping[str, Route]]]]:
    found: dict[int, list[tuple[list[bytes], Mapping[str, Route]]]] = {}
    for path, routes in ROUTES.items():
        template = path.encode().split(b"/")
        found.setdefault(len(template), []).append((template, routes))
    return found


_BY_LENGTH = _by_length()
