"""The description of ``/api`` against its code and its reference: routes, parameters and reasons are in all of them."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.workflow.http.api import Api, serving

import tailrace.server
from tailrace.server import problems
from tailrace.server.problems import Problem
from tailrace.server.workflow.described import OPERATIONS
from tailrace.server.workflow.openapi import add_to, reasons_of
from tailrace.server.workflow.reasons import REASONS
from tailrace.server.workflow.refusals import refusal_response
from tailrace.server.workflow.routes import ROUTES
from tailrace.server.workflow.schemas import SCHEMAS
from tailrace.workflow import errors
from tailrace.workflow.payloads import errors as payloads

SOURCES = Path(tailrace.server.__file__).parent / "workflow"
PAGE = (SOURCES.parents[3] / "docs/reference/workflow-http.md").read_text(encoding="utf-8")
ALL = [(method, path) for path, routes in ROUTES.items() for method in routes]


@cache
def document() -> dict[str, Any]:
    described: dict[str, Any] = {"paths": {}, "components": {"schemas": {}}}
    add_to(described)
    return described


def test_every_route_is_described_and_no_other() -> None:
    listed = {(method.upper(), path) for path, methods in document()["paths"].items() for method in methods}

    assert listed == set(ALL) == set(OPERATIONS)


def test_the_server_serves_the_description_with_its_own(api: Api, tmp_path: Path) -> None:
    served = api.get("/openapi.json").json()

    assert set(ROUTES) < set(served["paths"])
    assert set(SCHEMAS) < set(served["components"]["schemas"])
    identities = [each["operationId"] for methods in served["paths"].values() for each in methods.values()]
    assert len(identities) == len(set(identities))
    with serving(tmp_path) as another:
        assert another.get("/openapi.json").json() == served


@pytest.mark.parametrize(("method", "path"), ALL)
def test_a_parameter_is_described_if_the_code_asks_for_it(method: str, path: str) -> None:
    handler = ROUTES[path][method].handler
    source = (SOURCES / f"{handler.__module__.rpartition('.')[2]}.py").read_text(encoding="utf-8")
    asked = set(re.findall(r'integer_in\(\S*query, "(\w+)"', source)) | set(re.findall(r'query\.get\("(\w+)"', source))
    listed = document()["paths"][path][method.lower()]["parameters"]

    if handler.__name__ in ("subscribe", "events"):
        assert {each["name"] for each in listed if each["in"] == "query"} == asked
    else:
        assert [each for each in listed if each["in"] == "query"] == []
    assert {each["name"] for each in listed if each["in"] == "path"} == set(re.findall(r"{(\w+)}", path))


def test_every_reason_of_the_table_is_possible_on_some_route_and_no_other() -> None:
    possible = {
        reason
        for method, path in ALL
        for reason in reasons_of(method, path, ROUTES[path][method], OPERATIONS[method, path])
    }

    assert possible == set(REASONS)
    assert {reason for operation in OPERATIONS.values() for reason in operation.problems} <= set(REASONS)


def test_errors_have_the_statuses_of_the_table() -> None:
    found = (*vars(errors).values(), *vars(payloads).values())
    classes = {each for each in found if isinstance(each, type) and hasattr(each, "reason")} - {payloads.PayloadError}

    assert len(classes) > 20
    for each in classes:
        row = REASONS[each.reason]
        assert each.status == (row.also if each is payloads.PayloadMediaTypeError else row.status)


@pytest.mark.parametrize("name", sorted(problems.KINDS.keys() - {"no-topic", "sealed", "unsupported", "bad-topic"}))
def test_what_goes_wrong_everywhere_has_a_reason_here(name: str) -> None:
    answer = refusal_response(Problem("not-found" if name == "unsupported-type" else name, "x"))
    reason = re.search(rb'"reason": "(\w+)"', answer.body)

    assert reason is not None
    assert REASONS[reason[1].decode()].status == answer.status


def test_the_reference_has_the_same_table() -> None:
    rows = re.findall(r"^\| `([a-z_]+)` \| (\d+) \| (.*) \|$", PAGE, re.MULTILINE)

    assert rows == [
        (name, str(reason.status), reason.advice)
        for name, reason in sorted(REASONS.items(), key=lambda item: item[1].status)
    ]


@pytest.mark.parametrize(("method", "path"), ALL)
def test_the_reference_names_every_route(method: str, path: str) -> None:
    short = path.replace("/api/workflows/{workflow_id}/runs/{run_id}", "…")

    assert f"`{method} {path}`" in PAGE or f"`{method} {short}`" in PAGE
