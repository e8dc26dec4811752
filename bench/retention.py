"""Retention at size: appends beside a process that sweeps ten million expired records, against the same without it.

The sweeping goes on without a rest, as it does nowhere else: ``sweep --watch`` rests for as long as it took.
"""

import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from pathlib import Path

from tests.integration.size.mariadb import MariadbEngine
from tests.integration.size.postgres import PostgresEngine
from tests.integration.size.sqlite import SqliteEngine

import tailrace
from bench.pairs import Result
from tailrace.spi import SweepBudget
from tailrace.testing.servers.mariadb import MariadbServer
from tailrace.testing.servers.postgres import PostgresServer

TOPICS, EACH = 20_000, 500
LIVE = 50
SECONDS = 2.0
PAUSE = 0.002
"""Seconds between two appends: whoever measures must not be what the machine is busy with."""
PAYLOAD = b"x" * 200
AN_HOUR = 3600.0
PASS = SweepBudget(max_records=10**9, max_seconds=0.3)
GOAL_OF_A_PASS = 1.0


def on_sqlite(pairs: int) -> Iterator[Result]:
    """Measure SQLite."""
    with tempfile.TemporaryDirectory() as folder, SqliteEngine(Path(folder)) as engine:
        yield from measured("SQLite", engine, pairs)


def on_postgres(pairs: int) -> Iterator[Result]:
    """Measure PostgreSQL, with its autovacuum as it comes."""
    settings = {"shared_buffers": "512MB", "max_wal_size": "4GB"}
    with PostgresEngine(server=PostgresServer(synchronous=True, settings=settings)) as engine:
        yield from measured(f"PostgreSQL {engine.server.flavour.version[0]}", engine, pairs)


def on_mysql(pairs: int) -> Iterator[Result]:
    """Measure MariaDB."""
    settings = {"innodb_buffer_pool_size": "1G", "innodb_log_file_size": "512M"}
    with MariadbEngine(MariadbServer(synchronous=True, settings=settings)) as engine:
        yield from measured("MariaDB", engine, pairs)


def measured(store: str, engine: SqliteEngine | PostgresEngine | MariadbEngine, pairs: int) -> Iterator[Result]:
    """Append in turns with and without the sweep, then let it come to its end."""
    # A tenth is loaded empty.
    engine.load(TOPICS * 10 // 9, EACH)
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    going, over = context.Event(), context.Event()
    sweeper = context.Process(target=sweep, args=(engine.url, going, over, there))
    sweeper.start()
    assert here.recv() == "ready"
    beside: list[float] = []
    alone: list[float] = []
    with tailrace.connect(engine.url) as streams:
        topics = [streams.topic(f"live-{at}") for at in range(LIVE)]
        median_of_appends(topics)
        for turn in range(pairs):
            for sweeping in (turn % 2 == 0, turn % 2 != 0):
                if sweeping:
                    going.set()
                (beside if sweeping else alone).append(median_of_appends(topics))
                going.clear()
                # A pass that has begun goes on for a while.
                time.sleep(GOAL_OF_A_PASS)
    going.set()
    over.set()
    passes, records, left = here.recv()
    sweeper.join()
    ratios = [without / with_it for with_it, without in zip(beside, alone, strict=True)]
    yield Result(
        f"{store}: appends beside a sweep of {records:,} expired records",
        "1/s",
        1 / statistics.median(beside),
        1 / statistics.median(alone),
        ratio=statistics.median(ratios),
        goal=0.5,
        pairs=pairs,
        ratios=ratios,
        notes={"p50 ms": statistics.median(beside) * 1e3, "p50 ms alone": statistics.median(alone) * 1e3},
    )
    yield Result(
        f"{store}: the longest pass of {len(passes)}",
        "s",
        max(passes),
        goal=GOAL_OF_A_PASS,
        notes={"median": statistics.median(passes), "records/s": records / sum(passes), "expired and left": left},
    )


def median_of_appends(topics: list[tailrace.Topic]) -> float:
    """Return the seconds that an append took."""
    took: list[float] = []
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        began = time.perf_counter()
        topics[len(took) % len(topics)].append(PAYLOAD)
        took.append(time.perf_counter() - began)
        time.sleep(PAUSE)
    return statistics.median(took)


def sweep(url: str, going: Event, over: Event, there: Connection) -> None:
    """Sweep while told to; send back how long each pass took, what went, and what is left."""
    passes: list[float] = []
    records = 0
    with tailrace.connect(url, retention=tailrace.Retention(max_age=AN_HOUR)) as streams:
        there.send("ready")
        done = False
        while not (done and over.is_set()):
            going.wait()
            began = time.monotonic()
            report = streams.maintenance.sweep(PASS)
            passes.append(time.monotonic() - began)
            records += report.records
            done = report.done
        left = sum(info.records for info in streams.maintenance.topics(prefix="t", limit=10**6))
    there.send((passes, records, left))
