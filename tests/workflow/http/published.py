"""The published client of Workflow Streams, as its users have it; what it sends is noted down."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import httpx
from durable_workflow import Client
from tests.workflow.http.api import Api


class Sent(NamedTuple):
    """A request that the client has sent, and the status of the answer."""

    method: str
    path: str
    status: int
    body: bytes


@asynccontextmanager
async def published(api: Api, **options: Any) -> AsyncIterator[tuple[Client, list[Sent]]]:
    """Return a client of the server, and what it has sent so far."""
    sent: list[Sent] = []

    async def note(response: httpx.Response) -> None:
        request = response.request
        sent.append(Sent(request.method, request.url.raw_path.decode(), response.status_code, request.content))

    async with Client(api.server.url, **options) as client:
        client._http.event_hooks["response"].append(note)
        yield client, sent
