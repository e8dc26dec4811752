"""One request on its way through a handler."""

import json
from dataclasses import dataclass
from typing import Literal

from tailrace import aio
from tailrace.asgi import Send
from tailrace.records import TopicCursor
from tailrace.server.principals import Principal
from tailrace.server.problems import Problem
from tailrace.server.request import Request
from tailrace.server.service import Service
from tailrace.tokens import Opened, Tokens

MAX_JSON = 64 * 1024
"""Bytes of a body that is read as JSON: names and reasons. A larger one would hold the event loop for seconds."""


@dataclass(frozen=True, slots=True)
class Call:
    """What a handler is given.

    Attributes:
        service: What all requests share.
        request: What was asked.
        principal: Who asks; allowed to do it.
        name: The topic's name; empty where there is none in the path.
        send: For a handler that answers by itself.
    """

    service: Service
    request: Request
    principal: Principal
    name: str
    send: Send

    @property
    def topic(self) -> aio.Topic:
        """The topic."""
        return self.service.topic(self.name)

    @property
    def tokens(self) -> Tokens:
        """What seals and opens this principal's tokens."""
        return self.service.tokens(self.principal.tenant)

    async def body(self) -> bytes:
        """Return the body, within the server's bounds."""
        settings = self.service.settings
        return await self.request.body(limit=settings.max_body, within=settings.body_timeout)

    async def json(self) -> object:
        """Return what the body holds in JSON; an empty object if there is no body.

        Raises:
            Problem: It is none, or says that it is something else. What a form of another page can send is something
                else.
        """
        settings = self.service.settings
        body = await self.request.body(limit=min(MAX_JSON, settings.max_body), within=settings.body_timeout)
        kind = self.request.header(b"content-type")
        if body and kind is not None and kind.partition(";")[0].strip().lower() != "application/json":
            raise Problem("unsupported-type", "the body must be application/json")
        try:
            return json.loads(body) if body else {}
        except (ValueError, RecursionError):
            raise Problem("bad-request", "the body must be JSON") from None

    def token(self, cursor: TopicCursor) -> str:
        """Return a resume token for a cursor of the topic."""
        return self.tokens.seal(self.name, cursor)

    def opened(self, token: str) -> Opened:
        """Return what a token of the topic holds.

        Raises:
            InvalidTokenError: It is not one.
        """
        return self.tokens.open(self.name, token)

    def start(self, text: str | None) -> Literal["beginning", "tail"]:
        """Return where to start for somebody who has no token.

        Raises:
            Problem: It is not said.
        """
        match text:
            case "beginning" | "tail":
                return text
            case None:
                raise Problem("bad-request", "say where to start: start=beginning, start=tail, or cursor=")
            case _:
                raise Problem("bad-request", "start must be beginning or tail; a token goes into cursor")

    async def subscribe(self, start: str | None, opened: Opened | None) -> aio.Subscription:
        """Subscribe after a token that was opened, or else from a start.

        Raises:
            Problem: Neither is given.
            CursorUnavailableError: The history after the token is gone.
        """
        if opened is not None:
            return await self.topic.subscribe_from_cursor(opened.cursor)
        if self.start(start) == "beginning":
            return await self.topic.subscribe_from_beginning()
        return await self.topic.subscribe_from_tail()
