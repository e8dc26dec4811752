"""Requests that nobody would write, made from the server's own description: no 500, and nothing that is not in it."""

import json
from collections.abc import Iterator

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
from tests.http.doors.serving import Served, served

from tailrace.server import ServerSettings
from tailrace.server.routes import served as routes
from tailrace.wire import CONTENT_TYPE

EXAMPLES = 60
SCHEMA_CHECKS = [status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def brisk() -> Iterator[Served]:
    """A server on which nothing lasts: streams end by themselves, and nobody waits for records."""
    with served(settings=ServerSettings(recycle=0.1, max_wait=0.05, heartbeat=0.05)) as running:
        yield running


@schemathesis.serializer(CONTENT_TYPE)
def _body(_: object, value: object) -> bytes:
    # JSON is nearer to what these routes take than random bytes are.
    return value if isinstance(value, bytes) else json.dumps(value).encode()


@pytest.fixture(scope="module")
def schema(brisk: Served) -> schemathesis.BaseSchema:
    return schemathesis.openapi.from_url(f"{brisk.url}/openapi.json")


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("method", "path"), [(route.method, route.path) for route in routes()])
def test_a_route_keeps_to_its_description_whatever_is_sent(
    brisk: Served, schema: schemathesis.BaseSchema, method: str, path: str
) -> None:
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
        assert response.status_code < 500 or response.status_code in (501, 503)
        case.validate_response(response, checks=SCHEMA_CHECKS)

    ask()

    assert sent
    assert brisk.ask(b"GET /healthz HTTP/1.0\r\nhost: localhost\r\n\r\n").startswith(b"HTTP/1.1 200 ")
