"""Ten thousand live connections of Server-Sent Events in one process: memory, idle work, and one record to all."""

import asyncio
import os
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import uvloop

from bench import http_load
from bench.http_servers import Served, ours
from bench.pairs import Result
from bench.scale_asyncio import WAVES

READERS = 10_000
IDLE_SECONDS = 20.0
GOALS = {
    "HTTP: memory of each of 10,000 live connections (kB)": 20.0,
    "HTTP: idle CPU of the server (%)": 5.0,
    "HTTP: one record to 10,000 connections, until all have it (s)": 0.5,
}


def run(pairs: int) -> Iterator[Result]:
    """Measure in fresh processes; report medians."""
    rounds = []
    for _ in range(max(3, pairs // 2)):
        with ours() as served:
            rounds.append(uvloop.run(_measure(served)))
    for name, goal in GOALS.items():
        values = [each[name] for each in rounds]
        yield Result(name, "absolute", statistics.median(values), goal=goal, pairs=len(values), ratios=values)


async def _measure(served: Served) -> dict[str, float]:
    await http_load.post(served, 1, 0.2)
    await http_load.readers(served, 10)
    await asyncio.sleep(1.0)
    before = _resident(served.pid)
    readers = await http_load.readers(served, READERS)
    await asyncio.sleep(3.0)
    memory, idle = _resident(served.pid) - before, _cpu_seconds(served.pid)
    await asyncio.sleep(IDLE_SECONDS)
    idle = _cpu_seconds(served.pid) - idle
    waves = []
    for _ in range(WAVES):
        waves.append(await _wave(served, readers))
        await asyncio.sleep(0.5)
    figures = (memory / READERS / 1000, 100 * idle / IDLE_SECONDS, statistics.median(waves))
    return dict(zip(GOALS, figures, strict=True))


async def _wave(served: Served, readers: list[http_load.Reader]) -> float:
    """Return the seconds from one append until every reader has its event."""
    before = [reader.events for reader in readers]
    answered = asyncio.get_running_loop().create_future()
    (poster,) = await http_load.connect(served, lambda: http_load.Poster(served, answered.set_result), 1)
    assert isinstance(poster, http_load.Poster)
    began = time.perf_counter()
    poster.post()
    while not all(reader.events > seen for reader, seen in zip(readers, before, strict=True)):
        await asyncio.sleep(0.005)
    took = time.perf_counter() - began
    await answered
    poster.transport.close()
    return took


def _resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
