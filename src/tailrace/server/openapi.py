"""``/openapi.json``, put together from the table of routes and what ``described`` says of each. No I/O."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tailrace.server.described import (
    EVERYWHERE,
    OPERATIONS,
    THAT_WRITE,
    WITH_BODY,
    WITH_CREDENTIAL,
    WITH_TOPIC,
    Operation,
    Parameter,
)
from tailrace.server.problems import KINDS
from tailrace.server.schemas import SCHEMAS, TOPIC, ref


class Served(NamedTuple):
    """A route, as far as a client sees it."""

    method: str
    path: str
    is_public: bool


def document(routes: Iterable[Served], version: str) -> dict[str, Any]:
    """Return the description of these routes in OpenAPI 3.1.

    Raises:
        KeyError: Nothing is written about one of them.
    """
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        operation = OPERATIONS[route.method, route.path]
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Tailrace", "version": version, "description": "Durable, resumable streams over HTTP."},
        "paths": paths,
        "components": {
            "schemas": dict(SCHEMAS),
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "description": "An access key, or a JWT."},
                "ticket": {"type": "apiKey", "in": "query", "name": "ticket", "description": "To read, for browsers."},
            },
        },
    }


def problems_of(route: Served, operation: Operation) -> list[str]:
    """Return every row of the error table that a route may answer with, in the table's order."""
    possible = {*EVERYWHERE, *operation.problems}
    if not route.is_public:
        possible |= {*WITH_CREDENTIAL}
    if "{topic}" in route.path:
        possible |= {*WITH_TOPIC}
    if route.method not in ("GET", "HEAD"):
        possible |= {*THAT_WRITE}
    if operation.body:
        possible |= {*WITH_BODY}
    return [name for name in KINDS if name in possible]


def parameter_of(parameter: Parameter) -> dict[str, Any]:
    """Return a parameter as it stands in the description."""
    return {
        "name": parameter.name,
        "in": parameter.place,
        "required": parameter.required,
        "schema": parameter.schema,
        "description": parameter.about,
    }


def answers_of(operation: Operation) -> dict[str, Any]:
    """Return the responses, by status, of what is no problem."""
    answers: dict[str, Any] = {}
    for status, answer in operation.answers.items():
        content = {} if answer is None else {"content": {answer[0]: {"schema": answer[1]}}}
        answers[str(status)] = {"description": "Done.", **content}
    return answers


def _operation(route: Served, operation: Operation) -> dict[str, Any]:
    described: dict[str, Any] = {
        "summary": operation.summary,
        "operationId": _identity(route),
        "parameters": [parameter_of(parameter) for parameter in operation.parameters],
        "responses": _responses(route, operation),
        "security": [] if route.is_public else _security(route),
    }
    if "{topic}" in route.path:
        about = "The topic's name, percent-encoded: a slash in it as %2F."
        described["parameters"].insert(
            0, {"name": "topic", "in": "path", "required": True, "schema": TOPIC, "description": about}
        )
    if operation.body:
        content = {media: {"schema": schema} for media, schema in operation.body.items()}
        described["requestBody"] = {"required": operation.body_required, "content": content}
    return described


def _security(route: Served) -> list[dict[str, list[str]]]:
    readers: list[dict[str, list[str]]] = [{"ticket": []}] if route.method == "GET" and "{topic}" in route.path else []
    return [{"bearer": []}, *readers]


def _identity(route: Served) -> str:
    words = [word for word in route.path.strip("/").replace(".", "/").split("/") if word not in ("v1", "{topic}")]
    return "_".join([route.method.lower(), *words])


def _responses(route: Served, operation: Operation) -> Mapping[str, Any]:
    responses = answers_of(operation)
    names = problems_of(route, operation)
    for status in sorted({KINDS[name].status for name in names}):
        meant = [name for name in names if KINDS[name].status == status]
        responses[str(status)] = {
            "description": "; ".join(f"{name}: {KINDS[name].advice}" for name in meant),
            "content": {"application/problem+json": {"schema": ref("Problem")}},
        }
    return responses
