"""Probes and metrics: who may ask, and what a store that is away makes of the answers."""

import asyncio
from pathlib import Path

import httpx
import pytest
from tests.http.doors.serving import Served, served

from tailrace.server import readiness
from tailrace.server.access import AccessKey, AccessKeys
from tailrace.server.configuration import Access
from tailrace.server.readiness import Readiness


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that is busy with other things is not a store that hangs."""
    monkeypatch.setattr(readiness, "PATIENCE", 20.0)


def test_probes_need_no_credential_and_metrics_need_admin_everywhere() -> None:
    every, of_every = AccessKey.fresh("ops", ["admin:*"])
    some, of_some = AccessKey.fresh("team", ["admin:run:*", "read:*"])
    with (
        served(access=Access(keys=AccessKeys([of_every, of_some]).text)) as server,
        httpx.Client(base_url=server.url) as ask,
    ):
        assert ask.get("/healthz").json() == {"status": "alive"}
        assert ask.get("/readyz").json() == {"status": "ready"}
        assert ask.get("/openapi.json").status_code == 200
        assert ask.get("/metrics").status_code == 401
        assert ask.get("/metrics", headers={"authorization": f"Bearer {some}"}).status_code == 403
        assert ask.get("/metrics", headers={"authorization": f"Bearer {every}"}).status_code == 200


def test_metrics_are_what_prometheus_reads(server: Served) -> None:
    parser = pytest.importorskip("prometheus_client.parser")
    with httpx.Client(base_url=server.url) as ask:
        ask.post("/v1/topics/t/records", content=b"x")
        answer = ask.get("/metrics")

    values = {
        sample.name: sample.value
        for family in parser.text_string_to_metric_families(answer.text)
        for sample in family.samples
    }
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert values["tailrace_engine_appended_total"] == values["tailrace_records_appended_total"] == 1
    assert values["tailrace_server_streams"] == 0


def test_answers_are_counted_by_status_whoever_gave_them() -> None:
    with served() as server, httpx.Client(base_url=server.url) as ask:
        for path in ("/healthz", "/nothing", "/v1/topics/t", "/api/nothing"):
            ask.get(path)
        ask.get("/healthz", headers={"via": "1.1 proxy"})
        ask.post("/v1/topics/t/records", content=b"x")
        ask.post("/v1/topics/t/seal")
        ask.get("/v1/topics/t/events?start=beginning")
        found = ask.get("/metrics").text.splitlines()

    counts = [line.partition(" ")[::2] for line in found if line.startswith("tailrace_server_responses_total{")]
    assert {name.split('"')[1]: int(count) for name, count in counts} == {"200": 2, "204": 2, "403": 1, "404": 3}


def test_what_answers_get_answers_head_without_a_body(server: Served) -> None:
    with httpx.Client(base_url=server.url) as ask:
        ask.post("/v1/topics/head/records", content=b"x")
        for path in ("/healthz", "/readyz", "/v1/topics/head", "/v1/topics/head/records?start=beginning"):
            answer = ask.head(path)
            assert (answer.status_code, answer.content) == (200, b"")
            assert answer.headers["content-type"] == "application/json"
        assert ask.head("/v1/topics/none").status_code == 404
        # A stream has no end to be told of, and what changes something no answer without it.
        for path, allowed in (("/v1/topics/head/events", "GET"), ("/v1/topics/head/seal", "POST")):
            assert (ask.head(path).status_code, ask.head(path).headers["allow"]) == (405, allowed)
        assert ask.put("/v1/topics/head").headers["allow"] == "GET, DELETE, HEAD"


def test_a_server_that_is_about_to_end_is_alive_but_not_ready() -> None:
    with served() as server, httpx.Client(base_url=server.url) as ask:
        server.application.service.live.drain()

        assert ask.get("/readyz").status_code == 503
        assert ask.get("/readyz").json()["retryable"]
        assert ask.get("/healthz").status_code == 200


def test_a_server_whose_store_is_gone_is_alive_but_not_ready(tmp_path: Path) -> None:
    with served(f"sqlite:///{tmp_path / 'events.db'}") as server, httpx.Client(base_url=server.url) as ask:
        assert ask.get("/readyz").status_code == 200
        server.application.service.backend.close()
        server.application.service.readiness = Readiness()

        assert ask.get("/readyz").status_code == 503
        assert ask.get("/healthz").status_code == 200


def test_any_number_of_probes_is_one_look_at_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "FRESH", 3600.0)
    looks = 0

    async def look() -> None:
        nonlocal looks
        looks += 1

    async def probes() -> list[bool]:
        ready = Readiness()
        return await asyncio.gather(*(ready.answers(look) for _ in range(50)))

    assert asyncio.run(probes()) == [True] * 50
    assert looks == 1


def test_a_store_that_hangs_is_not_ready_and_is_not_asked_again_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "PATIENCE", 0.01)
    monkeypatch.setattr(readiness, "FRESH", 0.0)
    looks = 0

    async def probes() -> list[bool]:
        answers = asyncio.Event()

        async def look() -> None:
            nonlocal looks
            looks += 1
            await answers.wait()

        ready = Readiness()
        said = [await ready.answers(look), await ready.answers(look)]
        assert looks == 1
        answers.set()
        monkeypatch.setattr(readiness, "PATIENCE", 20.0)
        return [*said, await ready.answers(look)]

    assert asyncio.run(probes()) == [False, False, True]


def test_a_store_that_fails_is_not_ready() -> None:
    async def look() -> None:
        raise RuntimeError("away")

    async def probe() -> bool:
        return await Readiness().answers(look)

    assert asyncio.run(probe()) is False
