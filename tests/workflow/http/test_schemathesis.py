"""Requests that nobody would write: whatever is sent, a route keeps to its description."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.workflow.http.api import Api, serving

from tailrace.server import ServerSettings
from tailrace.server.configuration import Workflow
from tailrace.server.workflow.routes import ROUTES

EXAMPLES = 60
CHECKS = [status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def brisk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A server on which nothing lasts, with a stream to find."""
    folder: Path = tmp_path_factory.mktemp("schemathesis")
    brisk = ServerSettings(recycle=0.1, max_wait=0.05, heartbeat=0.05)
    with serving(folder, settings=brisk, workflow=Workflow(payload_store=folder.as_uri())) as api:
        api.post("/api/workflows/0/runs/0/streams/0/items", {"items": [{"payload": [1]}]})
        yield api


@pytest.fixture(scope="module")
def schema(brisk: Api) -> schemathesis.BaseSchema:
    return schemathesis.openapi.from_url(f"{brisk.server.url}/openapi.json")


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("method", "path"), [(method, path) for path, routes in ROUTES.items() for method in routes])
def test_a_route_keeps_to_its_description(brisk: Api, schema: schemathesis.BaseSchema, method: str, path: str) -> None:
    operation = schema[path][method]
    sent: list[int] = []

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.one_of(operation.as_strategy(GenerationMode.POSITIVE), operation.as_strategy(GenerationMode.NEGATIVE)))
    def ask(case: Case) -> None:
        response = case.call(timeout=20)
        sent.append(response.status_code)
        assert response.status_code < 500 or response.status_code == 503
        case.validate_response(response, checks=CHECKS)

    ask()

    assert sent
    assert brisk.get("/api/cluster/info").status_code == 200
