"""``make simulate SEED=... RUNS=...``: simulate seeds, and show the first one that breaks a rule, shrunk."""

import argparse
import sys
import time

from tests.simulation.search import explain, search


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--runs", type=int, default=2000, help="how many seeds; 1 shows that one history")
    parser.add_argument("--jobs", type=int, default=None, help="processes; as many as there are cores")
    options = parser.parse_args()
    began, done = time.perf_counter(), 0
    for count, failed in search(options.seed, options.runs, options.jobs):
        if failed is not None:
            print(explain(failed))
            return 1
        done += count
        if done % 10_000 == 0:
            print(f"{done} histories, {time.perf_counter() - began:.0f} s", flush=True)
    print(f"{done} histories from seed {options.seed} on, every rule held, {time.perf_counter() - began:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
