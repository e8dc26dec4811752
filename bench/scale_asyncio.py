"""Ten thousand subscriptions that wait in ``async for`` in one process: what they cost, and how fast they wake.

Runs in a process of its own, so that memory and threads are counted from a clean start.
"""

import asyncio
import gc
import json
import resource
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from bench.pairs import Result
from tailrace.aio import StreamClient, Subscription
from tailrace.backends.memory import MemoryStore
from tailrace.spi import Entry

READERS = 10_000
IDLE_SECONDS = 3.0
WAVES = 5
"""Records sent to all; the median is reported. The first one also creates the topics."""
GOALS = {
    "memory of 10,000 waiting subscriptions (MiB)": 100.0,
    "extra threads": 2.0,
    "idle CPU (%)": 3.0,
    "one record to each of 10,000 topics, until all have it (s)": 0.5,
    "one record of one topic to 10,000 readers (s)": 0.3,
}


def run(pairs: int) -> Iterator[Result]:
    """Measure in fresh processes; report medians."""
    rounds = []
    for _ in range(max(3, pairs // 2)):
        done = subprocess.run(
            [sys.executable, "-m", "bench.scale_asyncio"],
            check=True,
            capture_output=True,
            cwd=Path(__file__).parent.parent,
        )
        rounds.append(json.loads(done.stdout))
    for name in rounds[0]:
        values = [each[name] for each in rounds]
        yield Result(
            name, "absolute", statistics.median(values), goal=GOALS.get(name), pairs=len(values), ratios=values
        )


async def measure() -> dict[str, float]:
    """Return every figure of one process."""
    store = MemoryStore()
    async with StreamClient(store) as streams:
        loop = asyncio.get_running_loop()
        await (await streams.topic("warm").subscribe_from_tail()).__aenter__()
        gc.collect()
        memory, threads = resident(), threading.active_count()
        many, arrived = await start(streams, [f"topic {number}" for number in range(READERS)])
        figures = {"memory of 10,000 waiting subscriptions (MiB)": resident() - memory}
        figures["extra threads"] = float(threading.active_count() - threads)
        cpu = time.process_time()
        await asyncio.sleep(IDLE_SECONDS)
        figures["idle CPU (%)"] = 100 * (time.process_time() - cpu) / IDLE_SECONDS

        waves = []
        for _ in range(WAVES):
            arrived.clear()
            entries = [Entry(f"topic {number}", (b"x",)) for number in range(READERS)]
            began = time.perf_counter()
            await loop.run_in_executor(None, store.append, entries, 10.0)
            waves.append(await all_in(arrived, began))
        figures["one record to each of 10,000 topics, until all have it (s)"] = statistics.median(waves)
        for subscription in many:
            subscription.close()

        one, arrived = await start(streams, ["the one topic"] * READERS)
        waves = []
        for _ in range(WAVES):
            arrived.clear()
            began = time.perf_counter()
            await streams.topic("the one topic").append(b"x")
            waves.append(await all_in(arrived, began))
        figures["one record of one topic to 10,000 readers (s)"] = statistics.median(waves)
        for subscription in one:
            subscription.close()

        figures["CPU of 10,000 loops over receive(5) (%)"] = await looping(streams, 5.0)
    return figures


async def looping(streams: StreamClient, timeout: float) -> float:
    """Return the CPU, in percent, of as many readers that wake up at every timeout and wait again."""

    async def loop(subscription: Subscription) -> None:
        while await subscription.receive(timeout) is None:
            pass

    subscriptions = [await (await streams.topic(str(n)).subscribe_from_tail()).__aenter__() for n in range(READERS)]
    _tasks.extend(asyncio.create_task(loop(subscription)) for subscription in subscriptions)
    await asyncio.sleep(1.0)
    began, cpu = time.perf_counter(), time.process_time()
    await asyncio.sleep(2 * timeout)
    share = 100 * (time.process_time() - cpu) / (time.perf_counter() - began)
    for subscription in subscriptions:
        subscription.close()
    return share


async def start(streams: StreamClient, topics: list[str]) -> tuple[list[Subscription], list[float]]:
    """Enter a subscription per name and have a task wait in each; return them and where arrivals are noted."""
    arrived: list[float] = []

    async def wait(subscription: Subscription) -> None:
        async for _record in subscription:
            arrived.append(time.perf_counter())  # noqa: PERF401 - looked at while it grows

    subscriptions = [await (await streams.topic(name).subscribe_from_tail()).__aenter__() for name in topics]
    tasks = [asyncio.create_task(wait(subscription)) for subscription in subscriptions]
    _tasks.extend(tasks)
    await asyncio.sleep(1.0)
    gc.collect()
    return subscriptions, arrived


_tasks: list[asyncio.Task[None]] = []


async def all_in(arrived: list[float], began: float) -> float:
    """Return the seconds until the last reader had its record."""
    while len(arrived) < READERS:
        await asyncio.sleep(0.005)
    await asyncio.sleep(0.1)
    return max(arrived) - began


def resident() -> float:
    """Return this process's resident memory in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measure())))
