"""A process that floods a topic: ``python flood.py TOPIC SECONDS THREADS [fork]``, its store in the environment.

Prints what was acknowledged, what failed, and the longest time that one append took, as JSON.
"""

import json
import os
import signal
import sys
import threading
import time

from tailrace import DurableStreamUnavailableError, Retention, connect

STORE_VARIABLE = "TAILRACE_FLOOD_STORE"
"""Where the process finds the store URL: not in its arguments, which everybody can read."""


def main(topic: str, seconds: float, threads: int, *, fork: bool) -> None:
    with connect(os.environ[STORE_VARIABLE], retention=Retention(max_age=3600)) as streams:
        streams.topic(topic + "-warm").append(b"opened")
        child = os.fork() if fork else None
        # Whoever hangs is ended: each for itself, a child inherits no alarm.
        signal.alarm(round(seconds) + 60)
        label = f"{os.getpid()}".encode()
        acknowledged: list[str] = []
        failed: list[str] = []
        slowest = [0.0]

        def write(index: int) -> None:
            deadline, number = time.monotonic() + seconds, 0
            while time.monotonic() < deadline:
                payload = b"%b.%d.%d" % (label, index, number)
                number += 1
                started = time.monotonic()
                try:
                    streams.topic(topic).append(payload)
                except DurableStreamUnavailableError as error:
                    failed.append(f"{type(error).__name__}: {error}")
                else:
                    acknowledged.append(payload.decode())
                slowest[0] = max(slowest[0], time.monotonic() - started)

        writers = [threading.Thread(target=write, args=(index,)) for index in range(threads)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        report = {"acknowledged": acknowledged, "failed": failed, "slowest": slowest[0]}
        # One line per process, in one write: the forked child shares this output.
        os.write(1, json.dumps(report).encode() + b"\n")
    if child == 0:
        os._exit(0)
    if child is not None:
        os.waitpid(child, 0)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), fork=sys.argv[4:] == ["fork"])
