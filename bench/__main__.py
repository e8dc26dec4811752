"""``python -m bench [NAME ...]``: run benchmarks, print ratios first, write JSON."""

import argparse
import json
import platform
import sqlite3
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from bench import (
    crowd,
    http_append,
    http_fanout,
    http_scale,
    mysql_append,
    mysql_read,
    mysql_wake,
    nats_append,
    nats_read,
    nats_wake,
    postgres_append,
    postgres_notify,
    postgres_read,
    postgres_wake,
    redis_append,
    redis_read,
    redis_wake,
    retention,
    scale_asyncio,
    scale_gevent,
    sqlite_append,
    sqlite_read,
    sqlite_share,
    sqlite_wake,
    workflow_append,
    workflow_wake,
)
from bench.pairs import Result

BENCHES: dict[str, Callable[[int], Iterable[Result]]] = {
    "sqlite-append": sqlite_append.run,
    "sqlite-catch-up": sqlite_read.run,
    "sqlite-wake": sqlite_wake.run,
    "sqlite-share": sqlite_share.run,
    "postgres-append": postgres_append.run,
    "postgres-catch-up": postgres_read.run,
    "postgres-wake": postgres_wake.run,
    "postgres-notify": postgres_notify.run,
    "redis-append": redis_append.run,
    "redis-catch-up": redis_read.run,
    "redis-wake": redis_wake.run,
    "mysql-append": mysql_append.run,
    "mysql-catch-up": mysql_read.run,
    "mysql-wake": mysql_wake.run,
    "nats-append": nats_append.run,
    "nats-catch-up": nats_read.run,
    "nats-wake": nats_wake.run,
    "sqlite-retention": retention.on_sqlite,
    "postgres-retention": retention.on_postgres,
    "mysql-retention": retention.on_mysql,
    "http-append": http_append.run,
    "http-fan-out": http_fanout.run,
    "http-scale": http_scale.run,
    "postgres-crowd": crowd.on_postgres,
    "mysql-crowd": crowd.on_mysql,
    "workflow-append": workflow_append.run,
    "workflow-wake": workflow_wake.run,
    "scale-asyncio": scale_asyncio.run,
    "scale-gevent": scale_gevent.run,
}


def main() -> int:
    """Run what was asked for; exit 1 if a goal was missed."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of: {', '.join(BENCHES)} (default: all)")
    parser.add_argument("--pairs", type=int, default=7, help="paired runs per line (default 7)")
    parser.add_argument("--json", type=Path, help="write the results here")
    options = parser.parse_args()
    unknown = set(options.names) - set(BENCHES)
    if unknown:
        parser.error(f"no benchmark called {', '.join(sorted(unknown))}; known: {', '.join(BENCHES)}")
    results = []
    print(f"{'ratio':>7} {'goal':>7}  {'ours':>12} {'raw':>12}  what", flush=True)
    for name in options.names or BENCHES:
        for result in BENCHES[name](options.pairs):
            results.append(result)
            print(line(result), flush=True)
    if options.json:
        machine = {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version, "machine": platform.machine()}
        options.json.write_text(json.dumps({"on": machine, "results": [r.as_dict() for r in results]}, indent=2))
    return int(any(result.met is False for result in results))


def line(result: Result) -> str:
    """Return one line for people."""
    ratio = "" if result.ratio is None else f"{result.ratio:.2f}x"
    limit = "<=" if result.ratio is None else ">="
    goal = "" if result.goal is None else f"{limit}{result.goal:g}"
    raw = "" if result.raw is None else f"{result.raw:,.4g}"
    notes = "".join(f", {key} {value:,.4g}" for key, value in result.notes.items())
    missed = "" if result.met is not False else "   MISSED"
    return f"{ratio:>7} {goal:>7}  {result.ours:>12,.4g} {raw:>12}  {result.name} ({result.unit}{notes}){missed}"


if __name__ == "__main__":
    sys.exit(main())
