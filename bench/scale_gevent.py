"""Ten thousand greenlets that wait for records in one process: memory, and the time until all have theirs.

Every run is a process of its own, since a patch can not be undone. The figures are absolute: nothing else does this.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from bench.pairs import Result

READERS = 10_000
MOST_MIB = 200.0
MOST_SECONDS = 0.6


def run(pairs: int) -> Iterator[Result]:
    """Measure both stores, with one topic for all and with a topic for each."""
    for store in ("memory", "sqlite"):
        runs = [once(store, READERS) for _ in range(max(1, pairs // 3))]
        for what in ("one topic", "a topic each"):
            seconds = statistics.median(each[what] for each in runs)
            goal = MOST_SECONDS if what == "one topic" else None
            yield Result(
                f"{store}: a record to {READERS:,} greenlets, {what}", "s", seconds, goal=goal, pairs=len(runs)
            )
        yield Result(
            f"{store}: memory of {READERS:,} waiting greenlets",
            "MiB",
            statistics.median(each["MiB"] for each in runs),
            goal=MOST_MIB,
            pairs=len(runs),
            notes={"idle CPU %": statistics.median(each["idle %"] for each in runs)},
        )


def once(store: str, readers: int) -> dict[str, float]:
    """Run one measurement in a process of its own; return its figures by name."""
    with tempfile.TemporaryDirectory() as folder:
        url = "memory://" if store == "memory" else f"sqlite:///{folder}/events.db"
        command = [sys.executable, "-m", "bench.scale_gevent_process", url, str(readers)]
        printed = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    figures: dict[str, float] = json.loads(printed)
    return figures
