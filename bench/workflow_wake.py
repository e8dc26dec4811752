"""Long polls: from an append in one process to the page in another, and a thousand polls woken by one item."""

import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from multiprocessing.connection import Connection

from bench.pairs import Result
from bench.waking import times
from tailrace.options import StoreOptions, parse_url
from tailrace.spi import open_store
from tailrace.testing.servers.mariadb import MariadbServer
from tailrace.testing.servers.postgres import PostgresServer
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.model import NewItem, Run

STREAM = Run("default", "bench", "wake").stream("tokens")
PAYLOAD = json.dumps({"text": "x" * 180}).encode()
SAMPLES, EVERY = 200, 0.02
POLLS = 1000


def run(pairs: int) -> Iterator[Result]:
    """Measure each kind of database; the goal is far below the 250 ms of a poll that looks again and again."""
    with ExitStack() as opened:
        folder = opened.enter_context(tempfile.TemporaryDirectory())
        postgres = opened.enter_context(PostgresServer(synchronous=True))
        mariadb = opened.enter_context(MariadbServer())
        urls = (f"sqlite:///{folder}/runs.db", postgres.url(), mariadb.url(mariadb.create_database("bench")))
        for url in urls:
            with closing(service(url, create=True)) as first:
                first.append(STREAM, [NewItem(payload=PAYLOAD)])
                store = first.engine.backend.capabilities.store
            found = [
                times(url, poll, append, every=EVERY, samples=SAMPLES).p50 * 1e3 for _ in range(max(3, pairs // 2))
            ]
            yield Result(
                f"{store}: append to the answer of a long poll in another process, p50",
                "ms",
                statistics.median(found),
                goal=10.0,
                pairs=len(found),
                ratios=found,
            )
            waves = [asyncio.run(crowd(url)) * 1e3 for _ in range(max(3, pairs // 2))]
            yield Result(
                f"{store}: {POLLS} long polls of one stream, all answered after an item",
                "ms",
                statistics.median(waves),
                pairs=len(waves),
                ratios=waves,
            )


def service(url: str, *, create: bool = False) -> EmbeddedService:
    """Open a database."""
    return EmbeddedService(open_store(parse_url(url), StoreOptions(create=create or None)))


def append(url: str) -> Callable[[], object]:
    """Return what appends one item."""
    opened = service(url)
    return lambda: opened.append(STREAM, [NewItem(payload=PAYLOAD)])


def poll(url: str, samples: int, there: Connection) -> None:
    """Poll for every item, and send back when each came."""
    with closing(service(url)) as opened:
        offset = opened.describe(STREAM).last_offset + 1
        there.send("ready")
        arrived: list[float] = []
        while len(arrived) < samples:
            page = opened.subscribe(STREAM, from_offset=offset, wait_seconds=10)
            arrived += [time.monotonic()] * len(page.documents)
            offset = page.next_offset
        there.send(arrived)


async def crowd(url: str) -> float:
    """Return the seconds from an append to the last answer of many polls in one process."""
    with closing(service(url)) as opened:
        head = opened.describe(STREAM).last_offset + 1
        polls = [
            asyncio.ensure_future(opened.subscribe_async(STREAM, from_offset=head, wait_seconds=30))
            for _ in range(POLLS)
        ]
        while opened.engine.stats()["live_subscriptions"] != POLLS:
            await asyncio.sleep(0.05)
        began = time.monotonic()
        await opened.run(lambda: opened.append(STREAM, [NewItem(payload=PAYLOAD)]))
        pages = await asyncio.gather(*polls)
        took = time.monotonic() - began
        assert all(len(page.documents) == 1 for page in pages)
        return took
