"""From an append to a record in another process, on PostgreSQL; also against a bare INSERT, NOTIFY and SELECT."""

import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection

import psycopg

import tailrace
from bench.pairs import Result, paired
from bench.waking import PAYLOAD, absolute, append, receive, times
from tailrace.testing.servers.postgres import PostgresServer


def run(pairs: int) -> Iterator[Result]:
    """Measure the median latency; against the bare driver as its inverse, so that more is better."""
    with PostgresServer(synchronous=True) as server:
        url = server.url()
        with tailrace.connect(url, create=True) as streams:
            store = streams.capabilities.store
        server.execute("CREATE TABLE raw (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload bytea)")
        yield from absolute(store, url, pairs, 5.0)
        yield paired(
            f"{store}: append to receive between two processes, p50, against INSERT, NOTIFY and SELECT",
            "1/s",
            lambda: 1 / times(url, receive, append).p50,
            lambda: 1 / times(url, hear, insert).p50,
            pairs=pairs,
        )


def insert(url: str) -> Callable[[], object]:
    """Return what stores one row, and tells of it after the commit."""
    connection = psycopg.connect(url, autocommit=True)

    def write() -> None:
        connection.execute("INSERT INTO raw (payload) VALUES (%b)", (PAYLOAD,), prepare=True)
        connection.execute("SELECT pg_notify('raw', '')", prepare=True)

    return write


def hear(url: str, samples: int, there: Connection) -> None:
    """Fetch every row after being told, and send back when each came."""
    with psycopg.connect(url, autocommit=True) as listening, psycopg.connect(url, autocommit=True) as reading:
        listening.execute("LISTEN raw")
        ((seen,),) = reading.execute("SELECT coalesce(max(id), 0) FROM raw").fetchall()
        there.send("ready")
        arrived: list[float] = []
        for _ in listening.notifies():
            page = reading.execute(
                "SELECT id, payload FROM raw WHERE id > %s ORDER BY id LIMIT 500", (seen,), prepare=True, binary=True
            ).fetchall()
            arrived += [time.monotonic()] * len(page)
            seen = page[-1][0] if page else seen
            if len(arrived) >= samples:
                break
        there.send(arrived)
