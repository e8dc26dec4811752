"""Catch-up: 200,000 small records through a subscription, against a bare cursor loop over the same file."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import tailrace
from bench import raw_sqlite
from bench.pairs import Result, paired

RECORDS = 200_000
PAYLOAD = b"x" * 50


def run(pairs: int) -> Iterator[Result]:
    """Measure one reader that is far behind."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "ours.db"
        raw_path = Path(directory) / "raw.db"
        raw_sqlite.create(raw_path)
        writer = raw_sqlite.Writer(raw_path)
        with tailrace.connect(f"sqlite:///{path}") as streams:
            topic = streams.topic("t")
            for _ in range(RECORDS // 2000):
                topic.append_many([PAYLOAD] * 2000)
                writer.commit([PAYLOAD] * 2000)

            def ours() -> float:
                seen = 0
                started = time.perf_counter()
                with topic.subscribe_from_beginning() as subscription:
                    while isinstance(subscription.receive(0), tailrace.DurableStreamRecord):
                        seen += 1
                return checked(seen, time.perf_counter() - started)

            def raw() -> float:
                seen = 0
                started = time.perf_counter()
                rows = writer.connection.execute(
                    "select position, payload from record where topic = 1 and position > 0 order by position"
                )
                for _position, _payload in rows:
                    seen += 1
                return checked(seen, time.perf_counter() - started)

            yield paired("catch-up of 200,000 small records", "records/s", ours, raw, pairs=pairs, goal=0.4)
        writer.close()


def checked(seen: int, seconds: float) -> float:
    """Return the rate, if everything was read."""
    if seen != RECORDS:
        raise AssertionError(f"read {seen} of {RECORDS} records")
    return RECORDS / seconds
