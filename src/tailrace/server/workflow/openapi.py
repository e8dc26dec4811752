"""The part of ``/openapi.json`` about ``/api``, from the table of routes and what is written about them."""

from dataclasses import replace
from typing import Any

from tailrace.server.described import JSON, Operation, Parameter
from tailrace.server.openapi import answers_of, parameter_of
from tailrace.server.roles import Role
from tailrace.server.schemas import ref
from tailrace.server.workflow.described import OPERATIONS
from tailrace.server.workflow.reasons import REASONS
from tailrace.server.workflow.refusals import VERSION, VERSION_HEADER
from tailrace.server.workflow.routes import ROUTES, Route
from tailrace.server.workflow.schemas import ID, NAME, PAYLOAD_ID, SCHEMAS

EVERYWHERE = ("invalid_request", "bad_host", "proxied_without_auth", "unauthorized", "not_found", "method_not_allowed",
              "uri_too_long", "headers_too_large", "server_error")  # fmt: skip
WITH_ROLE = ("forbidden", "namespace_not_found", "unavailable", "unusable_store", "overloaded")
VERSIONED = ("missing_control_plane_version", "unsupported_control_plane_version")
THAT_WRITE = ("bad_origin", "unknown_outcome")
WITHOUT_PAYLOAD = ("payload_too_large",)
WITH_JSON = ("malformed_json", "unsupported_media_type", "request_timeout", "validation_failed")

_NAMESPACE = Parameter(
    name="X-Namespace",
    about="Of the workflows; the case of letters does not count. Or namespace in the query.",
    schema={"type": "string", "default": "default"},
    place="header",
)
_VERSION = Parameter(
    name=VERSION_HEADER.decode(), about="Of the contract.", schema={"const": VERSION}, place="header", required=True
)
_OPTIONAL_VERSION = replace(_VERSION, required=False)
_IN_PATH = {"workflow_id": ID, "run_id": ID, "stream_name": NAME, "reference_id": PAYLOAD_ID}


def add_to(document: dict[str, Any]) -> None:
    """Add the routes and schemas to a description.

    Raises:
        KeyError: Nothing is written about a route.
    """
    for path, routes in ROUTES.items():
        for method, route in routes.items():
            described = _operation(method, path, route, OPERATIONS[method, path])
            document["paths"].setdefault(path, {})[method.lower()] = described
    document["components"]["schemas"].update(SCHEMAS)


def reasons_of(method: str, path: str, route: Route, operation: Operation) -> list[str]:
    """Return every reason with which a route may refuse, in the table's order."""
    possible = {*EVERYWHERE, *operation.problems}
    if route.roles is not None:
        possible |= {*WITH_ROLE}
    if route.versioned:
        possible |= {*VERSIONED}
    if method != "GET":
        possible |= {*THAT_WRITE}
    if not route.carries_payload:
        possible |= {*WITHOUT_PAYLOAD}
    if JSON in operation.body:
        possible |= {*WITH_JSON}
    if "{workflow_id}" in path:
        possible |= {"validation_failed"}
    if "{stream_name}" in path:
        possible |= {"invalid_stream_name"}
    return [reason for reason in REASONS if reason in possible]


def _operation(method: str, path: str, route: Route, operation: Operation) -> dict[str, Any]:
    named = [name for name in _IN_PATH if f"{{{name}}}" in path]
    parameters = [
        Parameter(name=name, about="One segment, percent-encoded.", schema=_IN_PATH[name], place="path", required=True)
        for name in named
    ]
    parameters += [*operation.parameters, _NAMESPACE]
    if route.versioned:
        parameters.append(_OPTIONAL_VERSION if Role.WORKER in (route.roles or ()) else _VERSION)
    described: dict[str, Any] = {
        "summary": operation.summary,
        "operationId": "_".join(
            [method.lower(), *(word for word in path.split("/") if word and "{" not in word), *named]
        ),
        "parameters": [parameter_of(parameter) for parameter in parameters],
        "responses": _responses(reasons_of(method, path, route, operation), operation),
        "security": [{"bearer": []}, *([{"ticket": []}] if route.ticketed else [])],
    }
    if operation.body:
        content = {media: {"schema": schema} for media, schema in operation.body.items()}
        described["requestBody"] = {"required": operation.body_required, "content": content}
    return described


def _responses(reasons: list[str], operation: Operation) -> dict[str, Any]:
    responses = answers_of(operation)
    for status in sorted({status for reason in reasons for status in _statuses(reason)}):
        meant = [reason for reason in reasons if status in _statuses(reason)]
        responses[str(status)] = {
            "description": "; ".join(f"{reason}: {REASONS[reason].advice}" for reason in meant),
            "content": {"application/json": {"schema": ref("Refusal")}},
        }
    return responses


def _statuses(reason: str) -> tuple[int, ...]:
    row = REASONS[reason]
    return (row.status,) if row.also is None else (row.status, row.also)
