"""One topic to many readers of Server-Sent Events: our server on a SQLite file, against the Node reference server of
the Durable Streams protocol in memory."""

import asyncio
import statistics
import time
from collections.abc import Iterator

import uvloop

from bench import http_load
from bench.http_servers import Served, node, ours
from bench.pairs import Result, paired

SECONDS = 3.0
POSTERS = 8
READERS = (200, 1000)
TIMED = 20
"""Readers whose events are timed, one by one; the others are counted."""


def run(pairs: int) -> Iterator[Result]:
    """Measure events per second as fast as it goes, then how late they are at half of that."""
    with ours() as mine, node("memory") as theirs:
        for readers in READERS:
            result = paired(
                f"HTTP: one topic to {readers} readers, as fast as it goes",
                "events/s",
                lambda readers=readers: uvloop.run(_flood(mine, readers)),  # type: ignore[misc]
                lambda readers=readers: uvloop.run(_flood(theirs, readers)),  # type: ignore[misc]
                pairs=pairs,
                goal=2.0,
            )
            yield result
            late = [uvloop.run(_late(mine, readers, result.ours / readers / 2)) for _ in range(max(3, pairs // 2))]
            yield Result(
                f"HTTP: one topic to {readers} readers, at half of that, p99 from append to event",
                "ms",
                statistics.median(late),
                goal=30.0,
                pairs=len(late),
                ratios=late,
                notes={"records/s": result.ours / readers / 2},
            )


async def _flood(served: Served, count: int) -> float:
    readers = await http_load.readers(served, count)
    before, began = sum(reader.events for reader in readers), time.perf_counter()
    await http_load.post(served, POSTERS, SECONDS)
    rate = (sum(reader.events for reader in readers) - before) / (time.perf_counter() - began)
    await _close(readers)
    return rate


async def _late(served: Served, count: int, rate: float) -> float:
    readers = await http_load.readers(served, count, timed=TIMED)
    await http_load.post(served, POSTERS, SECONDS, rate=rate)
    await asyncio.sleep(0.5)
    late = [nanoseconds / 1e6 for reader in readers[:TIMED] for nanoseconds in reader.late]
    await _close(readers)
    return http_load.quantile(late, 0.99)


async def _close(readers: list[http_load.Reader]) -> None:
    for reader in readers:
        reader.transport.abort()
    await asyncio.sleep(0.5)
