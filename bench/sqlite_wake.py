"""Wake-up between two processes: from before the append in one to the record in the hands of the other.

With ``synchronous=normal``, so that the figure is the wake-up and not this machine's fsync, which a commit at
``full`` waits for before anybody may be woken.
"""

import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection

import tailrace
from bench.pairs import Result

SAMPLES = 400
EVERY = 0.005
IDLE_SECONDS = 3.0


def run(pairs: int) -> Iterator[Result]:
    """Measure the latency, and the CPU of a process that waits and of one that receives 200 records a second."""
    p50s, p99s, idles, busies = [], [], [], []
    for _ in range(max(3, pairs // 2)):
        latencies, idle, busy = once()
        latencies.sort()
        p50s.append(statistics.median(latencies) * 1e3)
        p99s.append(latencies[int(len(latencies) * 0.99)] * 1e3)
        idles.append(idle)
        busies.append(busy)
    yield Result(
        "wake-up between two processes, p50",
        "ms",
        statistics.median(p50s),
        goal=1.0,
        pairs=len(p50s),
        notes={"p99": statistics.median(p99s), "CPU % at 200 records/s": statistics.median(busies)},
    )
    yield Result("CPU of a process that waits", "%", statistics.median(idles), goal=2.0, pairs=len(idles))


def once() -> tuple[list[float], float, float]:
    """Return latencies, and the reader's CPU in percent while idle and while receiving."""
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as directory:
        url = f"sqlite:///{directory}/wake.db?synchronous=normal"
        here, there = context.Pipe()
        with tailrace.connect(url) as streams:
            topic = streams.topic("t")
            reader = context.Process(target=read, args=(url, there))
            reader.start()
            assert here.recv() == "idle"
            idle = here.recv()
            for _ in range(SAMPLES):
                topic.append(b"%.9f" % time.monotonic())
                time.sleep(EVERY)
            latencies, busy = here.recv()
            reader.join()
    return latencies, idle, busy


def read(url: str, there: Connection) -> None:
    """Wait idle for a while, then receive every sample."""
    with tailrace.connect(url) as streams, streams.topic("t").subscribe_from_tail() as subscription:
        there.send("idle")
        there.send(cpu_percent(lambda: subscription.receive(IDLE_SECONDS)))
        latencies: list[float] = []

        def receive() -> None:
            while len(latencies) < SAMPLES:
                record = subscription.receive(10.0)
                assert isinstance(record, tailrace.DurableStreamRecord)
                latencies.append(time.monotonic() - float(record.payload))

        busy = cpu_percent(receive)
        there.send((latencies, busy))


def cpu_percent(call: Callable[[], object]) -> float:
    """Return the CPU that a call took, of its wall time."""
    wall, cpu = time.monotonic(), time.process_time()
    call()
    return 100 * (time.process_time() - cpu) / (time.monotonic() - wall)
