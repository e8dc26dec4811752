"""From what an operator says to what is served: by options, by the environment, with CORS."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.http.doors.serving import served

from tailrace.asgi import Message
from tailrace.errors import InvalidArgumentError, KeyRingError
from tailrace.server import from_environment
from tailrace.server.access import AccessKey, AccessKeys
from tailrace.server.configuration import Access
from tailrace.tokens import KeyRing

APP = "https://app.example.org"


def test_a_configured_page_may_read_answers_and_problems_and_send_credentials() -> None:
    with served(origins=[APP]) as server, httpx.Client(base_url=server.url, headers={"origin": APP}) as page:
        for path in ("/healthz", "/v1/topics/none", "/nothing", "/v1/topics/x?" + "a" * 9000):
            answer = page.get(path)
            assert answer.headers["access-control-allow-origin"] == APP
            assert answer.headers["access-control-allow-credentials"] == "true"
            assert "origin" in answer.headers["vary"].lower()
        asked = {"access-control-request-method": "POST", "access-control-request-headers": "authorization"}
        preflight = page.options("/v1/topics/t/records", headers=asked)
        assert preflight.status_code == 200
        assert "authorization" in preflight.headers["access-control-allow-headers"]
        assert page.post("/v1/topics/t/records", content=b"x").status_code == 204


def test_no_other_page_may() -> None:
    evil = {"origin": "https://evil.example"}
    with served(origins=[APP]) as server, httpx.Client(base_url=server.url, headers=evil) as page:
        assert "access-control-allow-origin" not in page.get("/healthz").headers
        assert page.post("/v1/topics/t/records", content=b"x").status_code == 403
        asked = {"access-control-request-method": "POST"}
        assert "access-control-allow-origin" not in page.options("/v1/topics/t/records", headers=asked).headers


def test_any_page_may_but_never_with_cookies() -> None:
    with served(origins=["*"]) as server, httpx.Client(base_url=server.url, headers={"origin": "null"}) as page:
        answer = page.get("/healthz")

    assert answer.headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in answer.headers


def test_with_a_name_configured_others_are_refused_also_with_authentication() -> None:
    _, key = AccessKey.fresh("svc", ["read:*"])
    access = Access(keys=AccessKeys([key]).text)
    with served(access=access, hosts=["Streams.example.org."]) as server, httpx.Client(base_url=server.url) as client:
        assert client.get("/healthz").status_code == 400
        assert client.get("/healthz", headers={"host": "streams.example.org:443"}).status_code == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"topic": "run:1"}, 201),
        ({"topic": "run:1", "expires_in": 3600}, 201),
        ({"prefix": "run:1"}, 201),
        ({"topic": "other"}, 403),
        ({"prefix": "run"}, 403),
        ({"prefix": ""}, 403),
        ({"topic": ""}, 400),
        ({"topic": "a\0"}, 400),
        ({"topic": "\ud800"}, 400),
        ({"topic": "x" * 513}, 400),
        ({"topic": "run:1", "prefix": "run:"}, 400),
        ({"topic": "run:1", "expires_in": 3601}, 400),
        ({"topic": "run:1", "expires_in": 0}, 400),
        ({"topic": "run:1", "expires_in": True}, 400),
        ({"topic": "run:1", "expires_in": "60"}, 400),
        ({"topic": "run:1", "tenant": "other"}, 400),
        ({}, 400),
    ],
)
def test_a_ticket_is_for_no_more_than_its_principal_may_read(body: Any, status: int) -> None:
    text, key = AccessKey.fresh("svc", ["read:run:*", "append:*"])
    with served(access=Access(keys=AccessKeys([key]).text)) as server:
        headers = {"authorization": f"Bearer {text}", "content-type": "application/json"}
        answer = httpx.post(f"{server.url}/v1/tickets", content=json.dumps(body), headers=headers)

    assert answer.status_code == status


async def _status(application: Any, *, client: tuple[str, int] = ("127.0.0.1", 1), bearer: str = "") -> int:
    statuses: list[int] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    authorization = [(b"authorization", f"Bearer {bearer}".encode())] if bearer else []
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/v1/topics/t",
        "raw_path": b"/v1/topics/t",
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"localhost"), *authorization],
        "client": client,
    }
    await application(scope, receive, send)
    return statuses[0]


def test_by_the_environment_without_authentication_only_this_machine_is_served() -> None:
    application = from_environment({"TAILRACE_STORE": "memory://"})

    assert asyncio.run(_status(application)) == 404
    assert asyncio.run(_status(from_environment({"TAILRACE_STORE": "memory://"}), client=("192.0.2.1", 1))) == 403


def test_by_the_environment_credentials_and_keys_come_from_files_or_text(tmp_path: Path) -> None:
    text, key = AccessKey.fresh("svc", ["read:*"])
    for name, content in (("access", AccessKeys([key]).text), ("ring", KeyRing.new().text)):
        (tmp_path / name).write_text(content)
        (tmp_path / name).chmod(0o600)
    files = {"TAILRACE_ACCESS_KEYS_FILE": str(tmp_path / "access"), "TAILRACE_TOKEN_KEYS_FILE": str(tmp_path / "ring")}
    texts = {
        "TAILRACE_ACCESS_KEYS": key.line,
        "TAILRACE_TOKEN_KEYS": ";".join(each.line for each in KeyRing.new().keys),
    }

    for environ in (files, texts):
        application = from_environment({"TAILRACE_STORE": "memory://", **environ})
        assert asyncio.run(_status(application, client=("192.0.2.1", 1))) == 401
        application = from_environment({"TAILRACE_STORE": "memory://", **environ})
        assert asyncio.run(_status(application, client=("192.0.2.1", 1), bearer=text)) == 404


def test_by_the_environment_what_is_missing_is_said(tmp_path: Path) -> None:
    _, key = AccessKey.fresh("svc", ["read:*"])

    with pytest.raises(InvalidArgumentError, match="TAILRACE_STORE"):
        from_environment({})
    # Tokens of a ring that dies with the process would be refused by all other replicas.
    with pytest.raises(KeyRingError, match="TAILRACE_TOKEN_KEYS"):
        from_environment({"TAILRACE_STORE": "memory://", "TAILRACE_ACCESS_KEYS": key.line})
    with pytest.raises(InvalidArgumentError, match="not both"):
        from_environment(
            {
                "TAILRACE_STORE": "memory://",
                "TAILRACE_ACCESS_KEYS": key.line,
                "TAILRACE_ACCESS_KEYS_FILE": str(tmp_path),
            }
        )


def test_a_shared_secret_that_others_may_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_bytes(b"s" * 40)
    path.chmod(0o644)
    environ = {
        "TAILRACE_STORE": "memory://",
        "TAILRACE_TOKEN_KEYS": KeyRing.new().keys[0].line,
        "TAILRACE_JWT_KEY_FILE": str(path),
        "TAILRACE_JWT_AUDIENCE": "streams",
    }

    with pytest.raises(KeyRingError, match="chmod 600"):
        from_environment(environ)
    path.chmod(0o600)
    assert asyncio.run(_status(from_environment(environ))) == 401
