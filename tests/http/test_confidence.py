"""What a store says of itself when it fails goes to services that are trusted, and to nobody else but the log."""

import asyncio
import logging

import httpx
import pytest

from tailrace.backends.memory import MemoryStore
from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError
from tailrace.server import Action, Application, Gate, Grant, Principal
from tailrace.server.request import Request
from tailrace.testing.faults import Fail, FaultyBackend
from tailrace.tokens import KeyRing

SECRET = "/var/lib/secret.db could not be used"

ASKED = (
    ("GET", "/v1/topics/t", b""),
    ("GET", "/v1/topics/t/records?start=beginning", b""),
    ("POST", "/v1/topics/t/records", b"x"),
    ("POST", "/v1/topics/t/checkpoint", b""),
    ("POST", "/v1/topics/t/seal", b""),
)


class Somebody(Gate):
    """Lets one principal in."""

    def __init__(self, *, trusted: bool) -> None:
        self._principal = Principal("somebody", (Grant(Action.ADMIN),), trusted=trusted)

    def admit(self, request: Request) -> Principal:
        return self._principal


def answers(error: DurableStreamUnavailableError, *, trusted: bool) -> list[httpx.Response]:
    """Return what is answered while a store fails."""
    store = FaultyBackend(MemoryStore())
    store.always("append", Fail(error))
    store.always("bounds", Fail(error))
    store.always("seal", Fail(error))

    async def ask() -> list[httpx.Response]:
        application = Application(store, KeyRing.new(), gate=Somebody(trusted=trusted))
        transport = httpx.ASGITransport(app=application)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            found = [await client.request(method, path, content=body) for method, path, body in ASKED]
            lines = {"content-type": "application/x-ndjson"}
            found.append(await client.post("/v1/topics/t/records", content=b"x\n", headers=lines))
        await application.close()
        return found

    return asyncio.run(ask())


ERRORS = [
    DurableStreamUnavailableError(SECRET),
    DurableStreamUnavailableError(SECRET, maybe_stored=True),
    StoreUnusableError(SECRET),
]


@pytest.mark.parametrize("error", ERRORS, ids=["away", "unknown", "unusable"])
def test_a_stranger_is_told_that_the_store_fails_and_not_how(
    error: DurableStreamUnavailableError, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        found = answers(error, trusted=False)

    assert {answer.status_code for answer in found} == {503, 207}
    assert all("secret" not in answer.text for answer in found)
    assert sum("secret" in record.getMessage() for record in caplog.records) >= len(found)


@pytest.mark.parametrize("error", ERRORS, ids=["away", "unknown", "unusable"])
def test_a_service_that_is_trusted_is_told_how(error: DurableStreamUnavailableError) -> None:
    assert all("secret" in answer.text for answer in answers(error, trusted=True))
