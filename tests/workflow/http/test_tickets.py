"""Tickets for one stream: for its events and nothing else, for a while; and a stream that comes back a while longer."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.http.reader import Reader
from tests.http.requests import asked
from tests.workflow.http.api import Api, a_stream, said, serving

from tailrace.server.access import AccessKey, AccessKeys, Chain, TicketGate
from tailrace.server.configuration import Access, Workflow
from tailrace.server.problems import Problem
from tailrace.server.workflow.identities import right_to_read
from tailrace.server.workflow.routes import stream_with_ticket
from tailrace.tokens import Ticket, Tickets
from tailrace.workflow.model import Run


@pytest.fixture(scope="module")
def keys() -> dict[str, tuple[str, AccessKey]]:
    return {"operator": AccessKey.fresh("op", ["role:operator:*"]), "topics": AccessKey.fresh("topics", ["read:*"])}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory, keys: dict[str, tuple[str, AccessKey]]) -> Iterator[Api]:
    folder: Path = tmp_path_factory.mktemp("tickets")
    access = Access(keys=AccessKeys(key for _, key in keys.values()).text)
    workflow = Workflow(namespaces=("default", "other"))
    with serving(folder, access=access, workflow=workflow, authorization=f"Bearer {keys['operator'][0]}") as api:
        yield api


def ticket(api: Api, stream: str, **body: object) -> str:
    answer = api.post(f"{stream}/tickets", body)
    assert answer.status_code == 201
    assert answer.json()["expires_at"] > time.time()
    return str(answer.json()["ticket"])


def test_a_browser_follows_a_stream_with_a_ticket_and_no_header(api: Api) -> None:
    stream = a_stream()
    text = ticket(api, stream)
    api.post(f"{stream}/items", {"items": [{"payload": "x"}]})

    with Reader(api.server.port, f"{stream}/events?ticket={text}") as seen:
        seen.until_records(1)

    assert json.loads(seen.payloads[0])["payload"] == "x"


def test_a_ticket_is_for_the_events_of_its_stream_only(api: Api) -> None:
    stream = a_stream()
    api.post(f"{stream}/items", {"items": [{}]})
    text = ticket(api, stream)
    none = {"authorization": None}

    assert said(api.ask("GET", f"{stream}/items?ticket={text}", none)) == (403, "forbidden")
    assert said(api.ask("GET", f"{stream}x/events?ticket={text}", none)) == (403, "forbidden")
    assert said(api.ask("GET", f"{stream}/events?namespace=other&ticket={text}", none)) == (403, "forbidden")
    assert said(api.ask("GET", f"{stream}%ff/events?ticket={text}", none)) == (403, "forbidden")
    assert said(api.ask("POST", f"{stream}/tickets?ticket={text}", none)) == (401, "unauthorized")
    assert api.ask("GET", f"/v1/topics/t?ticket={text}", none).status_code == 403


def test_who_may_only_read_topics_gets_no_ticket_for_a_stream(api: Api, keys: dict[str, tuple[str, AccessKey]]) -> None:
    stream = a_stream()
    path = stream.split("/")
    reference = Run("default", path[3], path[5]).stream(path[7])
    headers = {"authorization": f"Bearer {keys['topics'][0]}"}

    assert said(api.ask("POST", f"{stream}/tickets", headers)) == (403, "forbidden")
    assert said(api.ask("GET", f"{stream}/events", headers)) == (403, "forbidden")
    for topic in (reference.topic, right_to_read(reference).prefix):
        given = api.ask("POST", "/v1/tickets", headers, json={"topic": topic})
        if given.status_code == 201:
            tried = api.ask("GET", f"{stream}/events?ticket={given.json()['ticket']}", {"authorization": None})
            assert said(tried) == (403, "forbidden")
        else:
            assert given.status_code == 400


@pytest.mark.parametrize("seconds", [0, 3601, "60", True, 1e9])
def test_a_ticket_is_for_an_hour_at_most(api: Api, seconds: object) -> None:
    answer = api.post(f"{a_stream()}/tickets", {"expires_in": seconds})

    assert said(answer) == (422, "validation_failed")
    assert list(answer.json()["errors"]) == ["expires_in"]
    assert ticket(api, a_stream(), expires_in=3600)


def test_a_stream_comes_back_with_an_expired_ticket_and_its_last_id(api: Api) -> None:
    stream = a_stream()
    api.post(f"{stream}/items", {"items": [{}]})
    with Reader(api.server.port, f"{stream}/events", headers={"authorization": api.authorization}) as seen:
        seen.until_records(1)
    reference = stream_with_ticket(asked(f"{stream}/events".encode()))
    assert reference is not None
    old = Ticket(right_to_read(reference).prefix, True, "", "jwt:ada", time.time() - 1)
    text = Tickets(api.server.ring, audience="tailrace").seal(old)
    gate = Chain(tickets=TicketGate(api.server.ring, audience="tailrace", grace=3600))

    def admitted(path: str, last_id: str | None) -> Any:
        headers = () if last_id is None else ((b"last-event-id", last_id.encode()),)
        return gate.admit(asked(path.encode(), query=f"ticket={text}".encode(), headers=headers))

    assert right_to_read(reference) in admitted(f"{stream}/events", seen.last_id).rights
    others = [f"{stream}x/events", stream, f"{stream}/events/", f"{stream}/tickets", "/api/none", "/healthz"]
    for path, last_id in ((f"{stream}/events", None), *((other, seen.last_id) for other in others)):
        with pytest.raises(Problem):
            admitted(path, last_id)
