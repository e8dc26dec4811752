"""What a request is asked before it reaches its handler, in the order of the contract. Pure.

The size that it declares, who asks, the role, the version, the namespace: so that a wrong role learns nothing about
namespaces, and who is not let in nothing about versions.
"""

from collections.abc import Callable, Collection

from tailrace.server.principals import Principal
from tailrace.server.problems import Problem
from tailrace.server.request import Request
from tailrace.server.roles import Role
from tailrace.server.workflow.refusals import VERSION, VERSION_HEADER, WORKER_VERSION_HEADER, Refusal
from tailrace.workflow.errors import NamespaceNotFoundError
from tailrace.workflow.model import DEFAULT_NAMESPACE


def check_size(request: Request, limit: int, refusal: Callable[[int], Refusal]) -> None:
    """Refuse a body that says that it is too large, before a byte of it is read.

    Raises:
        Refusal: What ``refusal`` returns.
    """
    declared = request.header(b"content-length")
    if declared is not None and declared.isdecimal() and (len(declared) > 18 or int(declared) > limit):
        raise refusal(limit)


def too_large(limit: int) -> Refusal:
    """Return the refusal of a body that is larger than a request may be."""
    return Refusal("payload_too_large", f"a request may have {limit} bytes", limit=limit)


def oversized(limit: int) -> Refusal:
    """Return the refusal of a body that is larger than a payload may be."""
    message = f"a payload may have {limit} bytes"
    return Refusal("external_payload_oversized", message, limit=limit, retryable=False)


def namespace_in(request: Request) -> str:
    """Return the namespace that is asked for, whether there is one of that name or not.

    It stands in a header, or in the query for an ``EventSource``, which can send none.

    Raises:
        Problem: There are two such headers: what stands before this server may have gone by the other one.
    """
    named = [value.decode("latin-1") for header, value in request.scope["headers"] if header == b"x-namespace"]
    if len(named) > 1:
        raise Problem("bad-request", "there is more than one X-Namespace")
    name = named[0] if named else request.query.get("namespace")
    return (name or DEFAULT_NAMESPACE).strip().lower()


def check_role(principal: Principal, namespace: str, allowed: Collection[Role]) -> None:
    """Refuse who has none of the roles.

    Raises:
        Refusal: ``forbidden``.
    """
    roles = principal.roles_in(namespace)
    if not roles & set(allowed):
        names = sorted(role.value for role in allowed)
        raise Refusal(
            "forbidden",
            f"this needs one of the roles {', '.join(names)} in this namespace",
            role=min(roles).value if roles else None,
            allowed_roles=names,
        )


def check_version(request: Request, *, workers: bool = False) -> None:
    """Refuse who does not say which contract they speak, or another one.

    Args:
        workers: Whether the version of a worker's protocol will do: workers send no other one.

    Raises:
        Refusal: ``missing_control_plane_version`` or ``unsupported_control_plane_version``.
    """
    asked = request.header(VERSION_HEADER)
    if asked == VERSION or (workers and asked is None and request.header(WORKER_VERSION_HEADER) is not None):
        return
    name = VERSION_HEADER.decode()
    reason = "missing_control_plane_version" if asked is None else "unsupported_control_plane_version"
    raise Refusal(
        reason,
        f"{name} is missing" if asked is None else f"{name} is not one that is spoken here",
        supported_version=VERSION,
        requested_version=asked,
        remediation=f"Send {name}: {VERSION}.",
    )


def check_namespace(namespace: str, known: Collection[str]) -> None:
    """Refuse a namespace that does not exist.

    Raises:
        NamespaceNotFoundError: It does not.
    """
    if namespace not in known:
        raise NamespaceNotFoundError("there is no namespace of that name", {"namespace": namespace})
