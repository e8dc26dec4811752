"""The API: takes questions, says what became of them, and streams answers to browsers. ``python -m chat.api``.

It generates nothing, so it may be restarted at any time: the worker goes on, and browsers come back by themselves.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
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


def application(settings: Settings) -> FastAPI:
    """Return the API."""
    jobs = Jobs(settings.jobs)
    tokens = Tokens(KeyRing.from_file(settings.keys), audience="chat")

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.events = events = EventStreams()
        async with await aio.connect(settings.streams) as app.state.workflows:
            # At its end the server would wait for event streams, and they go on for minutes.
            with events.drained_by_signals():
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
        streams: EventStreams = app.state.events
        topic = workflows.run("chat", str(job)).topic(STREAM)
        try:
            # A page that is new starts at the beginning; one that comes back has the id of its last event.
            return streams.response(request, topic, tokens, start="beginning", cursor=cursor)
        except tailrace.InvalidTokenError:
            raise HTTPException(400, "start anew") from None

    return app


def main() -> None:
    """Serve until SIGTERM or Ctrl-C."""
    settings = Settings.from_environment()
    uvicorn.run(
        application(settings),
        host=settings.host,
        port=settings.port,
        # What a client does not read can not be ended in an orderly way: it is cut after five seconds.
        timeout_graceful_shutdown=5,
        access_log=False,
    )


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    main()
