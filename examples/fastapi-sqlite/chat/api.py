"""The API: takes questions, says what became of them, and streams answers to browsers. ``python -m chat.api``.

It generates nothing, so it may be restarted at any time: the worker goes on, and browsers come back by themselves.
"""

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated
from uuid import UUID

import uvicorn
from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.responses import FileResponse
from pydantic import BaseModel, StringConstraints

import tailrace
from chat.jobs import Job, Jobs
from chat.settings import Settings
from chat.writing import STREAM
from tailrace.integrations.asgi import EventStreams
from tailrace.tokens import KeyRing, Tokens
from tailrace.workflow import aio

PAGE = Path(__file__).with_name("page.html")


class Question(BaseModel):
    """What the page sends."""

    prompt: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4000)]


def application(settings: Settings, streams: EventStreams) -> FastAPI:
    """Return the API.

    Args:
        streams: The event streams of it; whoever serves it drains them at the end.
    """
    jobs = Jobs(settings.jobs)
    tokens = Tokens(KeyRing.from_file(settings.keys), audience="chat")

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with await aio.connect(settings.streams) as app.state.workflows:
            yield

    app = FastAPI(lifespan=lifespan)

    def found(job: UUID) -> Job:
        row = jobs.get(str(job))
        if row is None:
            raise HTTPException(404, "there is no such question")
        return row

    # Functions that are not async: the framework runs them in threads, and SQLite may block them.

    @app.get("/", include_in_schema=False)
    @app.get("/chats/{job}", include_in_schema=False)
    def page() -> FileResponse:
        return FileResponse(PAGE, headers={"Cache-Control": "no-cache"})

    @app.put("/api/jobs/{job}")
    def ask(job: UUID, question: Question) -> Job:
        # The page chooses the id, and so may send its question again until it has an answer.
        row = jobs.ask(str(job), question.prompt)
        if row.prompt != question.prompt:
            raise HTTPException(409, "another question has this id")
        return row

    @app.get("/api/jobs/{job}")
    def look(job: UUID) -> Job:
        return found(job)

    @app.get("/api/jobs/{job}/events")
    async def events(request: Request, job: UUID, cursor: str | None = None) -> Response:
        # Who may read is decided here, as for the other routes. In this example it is whoever knows the id.
        await asyncio.to_thread(found, job)
        workflows: aio.Workflows = app.state.workflows
        topic = workflows.run("chat", str(job)).topic(STREAM)
        try:
            # A page that is new starts at the beginning; one that comes back has the id of its last event.
            return streams.response(request, topic, tokens, start="beginning", cursor=cursor)
        except tailrace.InvalidTokenError:
            raise HTTPException(400, "start anew") from None

    return app


class Server(uvicorn.Server):
    """Ends the event streams when it is told to end: uvicorn would wait for them, and they go on for minutes."""

    def __init__(self, config: uvicorn.Config, streams: EventStreams) -> None:
        super().__init__(config)
        self._streams = streams
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        # A signal comes between any two instructions: here it is only noted, for the loop to do it.
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._streams.drain)


def main() -> None:
    """Serve until SIGTERM or Ctrl-C."""
    settings = Settings.from_environment()
    streams = EventStreams()
    app = application(settings, streams)
    # What a client does not read can not be ended in an orderly way: it is cut after five seconds.
    config = uvicorn.Config(app, settings.host, settings.port, timeout_graceful_shutdown=5, access_log=False)
    # After a Ctrl-C, and when everything has ended, uvicorn raises it again.
    with contextlib.suppress(KeyboardInterrupt):
        Server(config, streams).run()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    main()
