"""A process of a deployment, to be killed: ``python -m tests.rollout.process WHAT COLOUR NUMBER FOLDER OVERLAP URLS``.

What it did is in its log, a line for each step, in one write: what a killed process has written stands there. Its phase
is in a file that the test rewrites. Both colours do the same; the awaited one in one coroutine.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import tailrace
from tailrace import broadcast
from tailrace.records import CLOSED
from tailrace.rollout import Phase, Rollout
from tailrace.rollout import aio as rollout_aio

TOPIC = "run:42"
LOOK = 0.05
STARTED_BY = os.getppid()


class Flag:
    """The phase in a file, looked at now and then."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._next = 0.0
        self._phase = Phase.BROADCAST

    def __call__(self, name: str) -> Phase:
        if time.monotonic() > self._next:
            self._phase = Phase(self._path.read_text())
            self._next = time.monotonic() + LOOK
        return self._phase


class Log:
    """Lines of words."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)

    def write(self, *words: object) -> None:
        os.write(self._file, (" ".join(map(str, words)) + "\n").encode())


def lines(path: Path) -> list[list[str]]:
    """Return what a log says."""
    return [line.split(" ") for line in path.read_text().splitlines()] if path.exists() else []


class Both:
    """Both ways in one colour; every call is awaited, and blocks where that is the blocking one's."""

    def __init__(self, colour: str, flag: Flag, overlap: float, channel_url: str, store_url: str) -> None:
        self._colour = colour
        self._flag = flag
        self._overlap = overlap
        self._urls = channel_url, store_url

    async def topic(self) -> Any:
        if self._colour == "sync":
            channel, streams = (
                broadcast.connect(self._urls[0], buffer_messages=100_000),
                tailrace.connect(self._urls[1]),
            )
            return Rollout(channel, streams, self._flag, overlap=self._overlap).topic(TOPIC)
        awaited = await broadcast.aio.connect(self._urls[0], buffer_messages=100_000)
        store = await tailrace.aio.connect(self._urls[1])
        return rollout_aio.Rollout(awaited, store, self._flag, overlap=self._overlap).topic(TOPIC)


def orphaned() -> bool:
    """Return whether nobody is left who would end this process."""
    # Not whether that is 1 now: on some systems somebody else takes orphans in.
    return os.getppid() != STARTED_BY


async def done(answer: Any) -> Any:
    """Return what a call of either colour returns."""
    return await answer if asyncio.iscoroutine(answer) else answer


async def produce(number: int, log: Path, over: Path, both: Both) -> None:
    """Publish numbered events until there is a file that says that it is over."""
    said = [int(line[1]) for line in lines(log) if line[0] == "begun"]
    count = said[-1] + 1 if said else 0
    topic, writing = await both.topic(), Log(log)
    while not over.exists() and not orphaned():
        writing.write("begun", count, time.monotonic())
        await done(topic.publish(b"%d:%d" % (number, count)))
        writing.write("done", count, time.monotonic())
        count += 1
        await asyncio.sleep(0.01)


async def listen(log: Path, over: Path, both: Both) -> None:
    """Listen; a place in the log is where to go on after a restart, if there is one at that moment."""
    before = lines(log)
    cursor = before[-1][1] if before and before[-1][1] != "-" else None
    topic, writing = await both.topic(), Log(log)
    subscription = await done(topic.subscribe(after=cursor))
    enter = getattr(subscription, "__enter__", None) or subscription.__aenter__
    await done(enter())
    writing.write("entered", subscription.cursor or "-", time.monotonic())
    state: tuple[bool, bool] | None = None
    while not over.exists() and not orphaned():
        event = await done(subscription.receive(0.1))
        assert event is not CLOSED
        if isinstance(event, bytes):
            writing.write("heard", subscription.cursor or "-", event.decode())
        now = (subscription.at_both, subscription.cursor is not None)
        if event is None or now != state:
            state = now
            writing.write("both" if now[0] else "one", subscription.cursor or "-", time.monotonic())
    assert subscription.dropped == 0
    writing.write("over", "-", time.monotonic())


def main(what: str, colour: str, number: str, folder: str, overlap: str, channel_url: str, store_url: str) -> None:
    name, place = f"{what}-{number}", Path(folder)
    both = Both(colour, Flag(place / f"{name}.phase"), float(overlap), channel_url, store_url)
    log, over = place / f"{name}.log", place / f"{what}.over"
    work: Coroutine[Any, Any, None] = (
        produce(int(number), log, over, both) if what == "produce" else listen(log, over, both)
    )
    asyncio.run(work)
    # What is open is not the test's business; an error was raised by now.
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
