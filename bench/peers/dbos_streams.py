"""DBOS as a peer: workflows that write to a stream each, on request, in a process and an environment of their own.

One line in, ``ITEMS WRITERS SECONDS``: so many writers, each of which writes items one by one, as that API has it, and
counts those of whole batches. One line out: items per second of all of them.
"""

import sys
import threading
import time
import uuid

from dbos import DBOS, SetWorkflowID

PAYLOAD = {"text": "x" * 180}

DBOS(config={"name": "bench", "system_database_url": sys.argv[1], "log_level": "ERROR", "run_admin_server": False})


@DBOS.workflow()
def write(items: int, seconds: float) -> int:
    """Write batches until the time is over; return how many items."""
    deadline = time.monotonic() + seconds
    written = 0
    while time.monotonic() < deadline:
        for _ in range(items):
            DBOS.write_stream("tokens", PAYLOAD)
        written += items
    return written


def rate(items: int, writers: int, seconds: float) -> float:
    """Return items per second of so many workflows at once."""
    counts: list[int] = []

    def one() -> None:
        with SetWorkflowID(str(uuid.uuid4())):
            counts.append(write(items, seconds))

    threads = [threading.Thread(target=one) for _ in range(writers)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.monotonic() - began)


DBOS.launch()
print("ready", flush=True)
for line in sys.stdin:
    items, writers, seconds = line.split()
    print(rate(int(items), int(writers), float(seconds)), flush=True)
DBOS.destroy()
