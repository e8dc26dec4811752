"""S23 over HTTP: somebody else's token is refused like any other that is none; only what was lost is told apart."""

import time
from collections.abc import Callable
from pathlib import Path

import httpx
from tests.http.parser import events_of
from tests.http.server import LocalServer

from tailrace.server import Action, Gate, Grant, Principal
from tailrace.server.request import Request
from tailrace.tokens import KeyRing


class ByTenant(Gate):
    """Believes whatever a header says."""

    def admit(self, request: Request) -> Principal:
        tenant = request.header(b"x-tenant") or ""
        return Principal(f"of {tenant}", (Grant(Action.ADMIN),), tenant=tenant)


def _token(client: httpx.Client, server: LocalServer, topic: str = "t", tenant: str = "") -> str:
    answer = client.post(f"{server.url}/v1/topics/{topic}/checkpoint", headers={"x-tenant": tenant})
    return str(answer.json()["token"])


def _flipped(token: str, at: int) -> str:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return token[:at] + letters[letters.index(token[at]) ^ 1] + token[at + 1 :]


def _asked(
    client: httpx.Client, server: LocalServer, token: str
) -> set[tuple[int, bytes, tuple[tuple[str, str], ...]]]:
    """Return what is answered, whatever way the token comes."""
    url = f"{server.url}/v1/topics/t"
    answers = [
        client.get(f"{url}/events", headers={"Last-Event-ID": token}),
        client.get(f"{url}/events", params={"cursor": token}),
        client.get(f"{url}/records", params={"cursor": token}),
    ]
    return {
        (answer.status_code, answer.content, tuple((k, v) for k, v in answer.headers.items() if k != "date"))
        for answer in answers
    }


def test_every_token_that_is_none_is_refused_alike(
    serve: Callable[..., LocalServer], keys: Path, client: httpx.Client
) -> None:
    server = serve(gate=ByTenant())
    server.streams.topic("t").append(b"x")
    good = _token(client, server)
    assert client.get(f"{server.url}/v1/topics/t/records", params={"cursor": good}).status_code == 200
    other_deployment = serve(gate=ByTenant(), settings={"audience": "elsewhere"})
    short_lived = serve(gate=ByTenant(), settings={"token_lifetime": 1.6})
    expired = _token(client, short_lived)
    time.sleep(1.7)
    retired = good
    ring = KeyRing.from_file(keys)
    ring = ring.rotated().rotated(keep=1)
    keys.write_text(ring.text, encoding="utf-8")
    rotated = serve(gate=ByTenant())
    fresh = _token(client, rotated)

    bad = {
        "another tenant's": _token(client, rotated, tenant="somebody"),
        "another topic's": _token(client, rotated, topic="u"),
        "of another deployment": _token(client, other_deployment),
        "of a key that was retired": retired,
        "expired": expired,
        "truncated": fresh[:-1],
        "too long": fresh + "A",
        "empty but there": "x",
        "no base64": "!" * len(fresh),
        **{f"with a bit flipped at {at}": _flipped(fresh, at) for at in range(len(fresh))},
    }
    answers = {name: _asked(client, rotated, token) for name, token in bad.items()}

    first = answers["truncated"]
    assert len(first) == 1
    assert next(iter(first))[0] == 400
    assert {name for name, answer in answers.items() if answer != first} == set()


def test_an_authentic_token_whose_history_is_gone_is_told_so(server: LocalServer, client: httpx.Client) -> None:
    topic = server.streams.topic("t")
    topic.append(b"x")
    token = _token(client, server)
    server.application.service.operations.delete("t")
    topic.append(b"y")

    (event,) = events_of(client.get(f"{server.url}/v1/topics/t/events", params={"cursor": token}).content)
    assert event.type == "gap"
    assert client.get(f"{server.url}/v1/topics/t/events", headers={"Last-Event-ID": event.id}).status_code == 204
    assert client.get(f"{server.url}/v1/topics/t/records", params={"cursor": token}).status_code == 410
