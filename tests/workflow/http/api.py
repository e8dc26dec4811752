"""A client of ``/api`` for tests: sends the headers that are required unless it is told otherwise."""

import itertools
import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import httpx
from tests.http.doors.serving import Served, served

from tailrace.server.configuration import Access, Workflow
from tailrace.server.settings import ServerSettings

VERSION = "x-durable-workflow-control-plane-version"

_numbers = itertools.count()


class Api:
    """A client, and the server that it is of."""

    def __init__(self, server: Served, **headers: str | None) -> None:
        self.server = server
        self._given: dict[str, str | None] = {VERSION: "2", **{k.replace("_", "-"): v for k, v in headers.items()}}
        self._client = httpx.Client(base_url=server.url, timeout=20)

    @property
    def authorization(self) -> str:
        """What it shows for itself, where it has been given anything."""
        return self._given["authorization"] or ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def ask(self, method: str, path: str, headers: Mapping[str, str | None] | None = None, **given: Any) -> Any:
        """Send a request; a header that is ``None`` is left out."""
        sent = {name: value for name, value in {**self._given, **(headers or {})}.items() if value is not None}
        return self._client.request(method, path, headers=sent, **given)

    def get(self, path: str, **given: Any) -> Any:
        return self.ask("GET", path, **given)

    def post(self, path: str, content: object = None) -> Any:
        """Send JSON, if there is anything to send, in pure ASCII: also what UTF-8 can not hold."""
        return self.ask("POST", path) if content is None else self.post_text(path, json.dumps(content).encode())

    def post_text(self, path: str, text: bytes | Iterable[bytes]) -> Any:
        """Send a body as it is."""
        return self.ask("POST", path, {"content-type": "application/json"}, content=text)


def a_run() -> str:
    """Return the path of a run that nobody else uses."""
    return f"/api/workflows/wf/runs/run-{next(_numbers)}"


def a_stream() -> str:
    """Return the path of a stream that nobody else uses."""
    return f"{a_run()}/streams/tokens"


def said(answer: Any) -> tuple[int, str]:
    """Return status and reason of a refusal, which always has a message."""
    body = answer.json()
    assert body["message"]
    assert answer.headers[VERSION] == "2"
    return answer.status_code, body["reason"]


def until(condition: Callable[[], bool]) -> None:
    """Return once it holds; fail if it does not for a minute."""
    pause, deadline = threading.Event(), time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it has not come to that"
        pause.wait(0.005)


@contextmanager
def serving(
    folder: Path,
    *,
    access: Access | None = None,
    workflow: Workflow | None = None,
    settings: ServerSettings | None = None,
    store: str | None = None,
    **headers: str | None,
) -> Iterator[Api]:
    """Serve a SQLite store in a folder, or a store that is named, while a test runs."""
    with served(store or f"sqlite:///{folder}/runs.db", access, workflow=workflow, settings=settings) as server:
        with Api(server, **headers) as api:
            yield api
