"""From whatever a request ends with to an answer: ``{message, reason, ...}``, with the status of the table."""

import json
from collections.abc import Mapping

from tailrace.errors import DurableStreamError
from tailrace.server.problems import Problem, problem_of
from tailrace.server.response import Response
from tailrace.server.workflow.reasons import REASONS
from tailrace.workflow.errors import WorkflowStreamError

PREFIX = b"/api/"

VERSION = "2"
VERSION_HEADER = b"x-durable-workflow-control-plane-version"
WORKER_VERSION_HEADER = b"x-durable-workflow-protocol-version"

Headers = tuple[tuple[bytes, bytes], ...]

VERSIONED: Headers = ((VERSION_HEADER, VERSION.encode()),)
_SOON: Headers = ((b"retry-after", b"1"),)

_OF_PROBLEMS = {
    # What the public contract calls otherwise than the rest of the server.
    "bad-request": "invalid_request",
    "unauthenticated": "unauthorized",
    "too-large": "payload_too_large",
    "too-slow": "request_timeout",
    "internal": "server_error",
}


class Refusal(Exception):  # noqa: N818 - as problems are
    """A request that ends with a reason of the table.

    Attributes:
        reason: Of a row.
        details: What else the body says.
        headers: To send with it.
    """

    def __init__(self, reason: str, message: str, *, headers: Headers = (), **details: object) -> None:
        super().__init__(message)
        self.reason = reason
        self.details: Mapping[str, object] = details
        self.headers = headers


def refusal_response(error: Refusal | Problem | DurableStreamError) -> Response:
    """Return what is answered to a request that ends with an error."""
    match error:
        case Refusal():
            return _response(REASONS[error.reason].status, error.reason, str(error), error.details, error.headers)
        case WorkflowStreamError():
            headers = _SOON if error.status == 503 else ()
            return _response(error.status, error.reason, str(error), error.details, headers)
        case Problem():
            kind = error.kind
            reason = _OF_PROBLEMS.get(error.name, error.name.replace("-", "_"))
            headers = error.headers
            if kind.status == 503 and kind.retryable:
                headers += _SOON
            if kind.status == 401:
                headers += ((b"www-authenticate", b"Bearer"),)
            details = {"retryable": kind.retryable} if kind.status >= 500 else {}
            return _response(kind.status, reason, error.detail, details, headers)
        case _:
            return refusal_response(problem_of(error))


def json_answer(content: object, status: int = 200) -> Response:
    """Return an answer in JSON. Pure ASCII: ids and texts may hold what UTF-8 can not."""
    return raw_answer(json.dumps(content, separators=(",", ":")).encode(), status)


def raw_answer(body: bytes, status: int = 200) -> Response:
    """Return an answer whose body is JSON already."""
    return Response(status, body, headers=VERSIONED)


def _response(status: int, reason: str, message: str, details: Mapping[str, object], headers: Headers = ()) -> Response:
    body = json.dumps({"message": message, "reason": reason, **details}).encode()
    return Response(status, body, headers=(*VERSIONED, *headers))
