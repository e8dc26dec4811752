"""What the store does wrong, and what the server does: told apart, so that a client knows what it may send again."""

from typing import Any

import pytest
from tests.workflow.http.api import Api, a_stream, said

from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError
from tailrace.server.workflow import shared
from tailrace.workflow.embedded import EmbeddedService


def failing(error: Exception) -> Any:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "expected", "retryable"),
    [
        (DurableStreamUnavailableError("away"), (503, "unavailable"), True),
        (DurableStreamUnavailableError("away", maybe_stored=True), (503, "unknown_outcome"), False),
        (StoreUnusableError("broken"), (503, "unusable_store"), False),
        (RuntimeError("a secret"), (500, "server_error"), False),
    ],
)
def test_an_append_that_failed_says_whether_it_may_be_stored(
    api: Api, monkeypatch: pytest.MonkeyPatch, error: Exception, expected: tuple[int, str], retryable: bool
) -> None:
    monkeypatch.setattr(EmbeddedService, "append", failing(error))

    answer = api.post(f"{a_stream()}/items", {"items": [{}]})

    assert said(answer) == expected
    assert answer.json()["retryable"] is retryable
    assert answer.headers.get("retry-after") == ("1" if retryable else None)
    assert "secret" not in answer.text


@pytest.mark.parametrize(
    ("method", "tail", "operation"),
    [
        ("GET", "s", "list_streams"),
        ("GET", "s/t", "describe"),
        ("GET", "s/t/items", "subscribe_async"),
        ("POST", "s/t/close", "end"),
        ("POST", "s/t/lease", "renew"),
        ("GET", "", "describe_run"),
        ("POST", "end", "end_run"),
        ("DELETE", "", "delete_run"),
    ],
)
def test_every_operation_tells_that_the_store_is_away(
    api: Api, monkeypatch: pytest.MonkeyPatch, method: str, tail: str, operation: str
) -> None:
    run = a_stream().removesuffix("/streams/tokens")
    path = f"{run}/{tail.replace('s', 'streams', 1) if tail.startswith('s') else tail}".rstrip("/")
    monkeypatch.setattr(EmbeddedService, operation, failing(DurableStreamUnavailableError("away")))

    assert said(api.ask(method, path)) == (503, "unavailable")


def test_more_operations_than_may_wait_are_told_to_come_back(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = a_stream()
    monkeypatch.setattr(shared, "MOST_WAITING", 0)

    assert said(api.post(f"{stream}/items", {"items": [{}]})) == (503, "overloaded")
    assert said(api.get(f"{stream}/items")) == (503, "overloaded")
