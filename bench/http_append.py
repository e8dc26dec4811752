"""Appends over HTTP, 32 at once: our server on a SQLite file that syncs each commit, against the Node reference server
of the Durable Streams protocol, file-backed."""

import statistics
from collections.abc import Iterator

import uvloop

from bench import http_load
from bench.http_servers import node, ours
from bench.pairs import Result

CONCURRENCY = 32
SECONDS = 3.0


def run(pairs: int) -> Iterator[Result]:
    """Measure both sides in turn, in one run: the rate, and what the slowest of a hundred takes."""
    with ours() as mine, node() as theirs:
        figures: dict[str, list[http_load.Posted]] = {"ours": [], "theirs": []}
        for turn in range(pairs + 1):
            sides = [("ours", mine), ("theirs", theirs)]
            for name, served in sides if turn % 2 else reversed(sides):
                posted = uvloop.run(http_load.post(served, CONCURRENCY, SECONDS))
                # The first turn warms both up.
                if turn:
                    figures[name].append(posted)
    yield _ratio("append, 32 at once", "records/s", [f.rate for f in figures["ours"]],
                 [f.rate for f in figures["theirs"]], goal=5.0)  # fmt: skip
    yield _ratio("append, 32 at once, p99, theirs over ours", "1/s", [1 / f.p99 for f in figures["ours"]],
                 [1 / f.p99 for f in figures["theirs"]], goal=2.0)  # fmt: skip


def _ratio(name: str, unit: str, ours: list[float], theirs: list[float], *, goal: float) -> Result:
    ratios = [mine / other for mine, other in zip(ours, theirs, strict=True)]
    return Result(
        name=f"HTTP: {name}",
        unit=unit,
        ours=statistics.median(ours),
        raw=statistics.median(theirs),
        ratio=statistics.median(ratios),
        goal=goal,
        pairs=len(ratios),
        ratios=ratios,
    )
