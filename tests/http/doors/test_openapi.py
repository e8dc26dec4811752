"""``/openapi.json`` against the code: every route, parameter, status and problem is in both."""

import ast
import inspect
import re
import textwrap
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import tailrace.server
from tailrace.server import described, problems
from tailrace.server import routes as routing
from tailrace.server.openapi import Served, document, problems_of

SOURCES = Path(tailrace.server.__file__).parent


@cache
def routes() -> dict[tuple[str, str], routing.Route]:
    """Every route, with what answers it."""
    tables = [(f"/v1/topics/{{topic}}{tail.decode()}", table) for tail, table in routing._TOPIC.items()]
    tables += [(path.decode(), table) for path, table in routing._FIXED.items()]
    return {(method, path): route for path, table in tables for method, route in table.items()}


@cache
def described_document() -> dict[str, Any]:
    return document(routing.served(), "0")


def operation(method: str, path: str) -> dict[str, Any]:
    return described_document()["paths"][path][method.lower()]


@cache
def calls_in(handler: Any) -> tuple[ast.Call, ...]:
    """Every call in a handler and in the functions of the server that it names."""
    found: list[ast.Call] = []
    seen = {handler}
    waiting = [handler]
    while waiting:
        function = waiting.pop()
        module = inspect.getmodule(function)
        for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))):
            if isinstance(node, ast.Call):
                found.append(node)
            if isinstance(node, ast.Name):
                target = inspect.unwrap(getattr(module, node.id, _called))
                if _is_ours(target) and target not in seen:
                    seen.add(target)
                    waiting.append(target)
    return tuple(found)


def _is_ours(target: Any) -> bool:
    """Whether it is a function of the server, but for those that everything ends in."""
    name = getattr(target, "__module__", "")
    return inspect.isfunction(target) and name.startswith("tailrace.server") and not name.endswith(".response")


def texts(call: ast.Call) -> set[str]:
    return {each.value for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)}


def test_every_route_is_in_the_document_and_no_other() -> None:
    listed = {(method.upper(), path) for path, methods in described_document()["paths"].items() for method in methods}

    assert listed == set(routes())
    assert set(described.OPERATIONS) == set(routes())


@pytest.mark.parametrize(("method", "path"), sorted(routes()))
def test_the_parameters_of_a_route_are_those_that_its_code_knows(method: str, path: str) -> None:
    calls = calls_in(routes()[method, path].handler)
    known = {name for call in calls if _called(call) == "only" for name in texts(call)}
    resumes = any(_called(call) == "header" and _bytes(call) == b"last-event-id" for call in calls)
    listed = [each for each in operation(method, path)["parameters"] if each["in"] != "path"]

    assert {each["name"] for each in listed if each["in"] == "query"} == known
    assert {each["name"] for each in listed if each["in"] == "header"} == ({"Last-Event-ID"} if resumes else set())


@pytest.mark.parametrize(("method", "path"), sorted(routes()))
def test_a_route_that_reads_a_body_says_so(method: str, path: str) -> None:
    reads = any(_called(call) in ("body", "json") for call in calls_in(routes()[method, path].handler))

    assert ("requestBody" in operation(method, path)) == reads


@pytest.mark.parametrize(("method", "path"), sorted(routes()))
def test_the_problems_that_a_route_raises_are_in_its_answers(method: str, path: str) -> None:
    route = routes()[method, path]
    raised = {
        name
        for call in calls_in(route.handler)
        if _called(call) == "Problem"
        for name in texts(call) & problems.KINDS.keys()
    }
    possible = problems_of(Served(method, path, route.is_public), described.OPERATIONS[method, path])
    statuses = {str(problems.KINDS[name].status) for name in possible}

    assert raised - {"unavailable"} <= set(possible)
    assert statuses <= operation(method, path)["responses"].keys()


@pytest.mark.parametrize(("method", "path"), sorted(routes()))
def test_the_statuses_of_a_route_are_those_that_its_code_answers_with(method: str, path: str) -> None:
    route = routes()[method, path]
    calls = calls_in(route.handler)
    given: set[int] = set()
    for call in calls:
        numbers = [each.value for each in ast.walk(call) if isinstance(each, ast.Constant) and type(each.value) is int]
        if _called(call) == "Response":
            given |= {number for number in numbers if 200 <= number < 300} or _status_of_names(route.handler)
        elif _called(call) == "serve":
            # Of events: a stream, or nothing to come back for.
            given |= {200, 204}
        elif _called(call) == "json_response":
            given |= {number for number in numbers if 201 <= number < 300} or {200}
    if "None" in str(inspect.signature(route.handler).return_annotation):
        # It streams, which is no Response.
        given.add(200)
    assert set(described.OPERATIONS[method, path].answers) == given


def _status_of_names(handler: Any) -> set[int]:
    """The statuses that a handler chooses between before it answers."""
    chosen = " ".join(re.findall(r"status = (2.*)", inspect.getsource(inspect.getmodule(handler))))
    # 201 is an outcome within a body.
    return {int(number) for number in re.findall(r"\b2\d\d\b", chosen)} - {201}


def test_every_problem_of_the_table_is_used_in_the_code_and_possible_on_some_route() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py"))
    raised = set(re.findall(r'Problem\(\s*"([a-z-]+)"', source)) | set(re.findall(r'return "([a-z-]+)"', source))
    raised |= set(re.findall(r'"([a-z-]+)" if ', source)) | set(re.findall(r' else "([a-z-]+)"', source))
    possible = {
        name
        for (method, path), route in routes().items()
        for name in problems_of(Served(method, path, route.is_public), described.OPERATIONS[method, path])
    }

    assert set(problems.KINDS) - raised == set()
    assert set(problems.KINDS) - possible == set()


def test_the_reference_has_the_same_table_of_errors() -> None:
    page = (SOURCES.parents[2] / "docs/reference/http.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \| (\d+) \| (yes|no) \| (.*) \|$", page, re.MULTILINE)

    assert rows == [
        (name, str(kind.status), "yes" if kind.retryable else "no", kind.advice)
        for name, kind in sorted(problems.KINDS.items(), key=lambda item: item[1].status)
    ]


def test_the_reference_names_every_route() -> None:
    page = (SOURCES.parents[2] / "docs/reference/http.md").read_text(encoding="utf-8")

    assert [route for route in routes() if f"`{route[0]} {route[1]}`" not in page] == []


def _called(call: ast.Call) -> str:
    return ast.unparse(call.func).rpartition(".")[2]


def _bytes(call: ast.Call) -> bytes:
    values = (each.value for each in call.args if isinstance(each, ast.Constant))
    return next((value for value in values if isinstance(value, bytes)), b"")
