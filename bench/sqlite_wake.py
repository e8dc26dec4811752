"""Wake-up between two processes: from the acknowledgement in one to the record in the hands of the other.

Also from before the append, which has the commit itself in it; with ``synchronous=normal``, so that this is not the
disk's flush, which a commit at ``full`` waits for before anybody may be woken.
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
    p50s: list[float] = []
    p99s: list[float] = []
    whole: list[float] = []
    idles: list[float] = []
    busies: list[float] = []
    for _ in range(max(3, pairs // 2)):
        since_ack, since_call, idle, busy = once()
        since_ack.sort()
        p50s.append(statistics.median(since_ack) * 1e3)
        p99s.append(since_ack[int(len(since_ack) * 0.99)] * 1e3)
        whole.append(statistics.median(since_call) * 1e3)
        idles.append(idle)
        busies.append(busy)
    yield Result(
        "wake-up between two processes, p50",
        "ms",
        statistics.median(p50s),
        goal=1.0,
        pairs=len(p50s),
        notes={
            "p99": statistics.median(p99s),
            "p50 with the append": statistics.median(whole),
            "CPU % at 200 records/s": statistics.median(busies),
        },
    )
    yield Result("CPU of a process that waits", "%", statistics.median(idles), goal=2.0, pairs=len(idles))


def once() -> tuple[list[float], list[float], float, float]:
    """Return latencies since the acknowledgement and since the call, and the reader's CPU while idle and receiving."""
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
            calls: list[float] = []
            acknowledged: list[float] = []
            for _ in range(SAMPLES):
                calls.append(time.monotonic())
                topic.append(b"x" * 20)
                acknowledged.append(time.monotonic())
                time.sleep(EVERY)
            arrivals, busy = here.recv()
            reader.join()
    since_ack = [arrived - at for arrived, at in zip(arrivals, acknowledged, strict=True)]
    since_call = [arrived - at for arrived, at in zip(arrivals, calls, strict=True)]
    return since_ack, since_call, idle, busy


def read(url: str, there: Connection) -> None:
    """Wait idle for a while, then receive every sample."""
    with tailrace.connect(url) as streams, streams.topic("t").subscribe_from_tail() as subscription:
        there.send("idle")
        there.send(cpu_percent(lambda: subscription.receive(IDLE_SECONDS)))
        arrivals: list[float] = []

        def receive() -> None:
            while len(arrivals) < SAMPLES:
                record = subscription.receive(10.0)
                assert isinstance(record, tailrace.DurableStreamRecord)
                arrivals.append(time.monotonic())

        busy = cpu_percent(receive)
        there.send((arrivals, busy))


def cpu_percent(call: Callable[[], object]) -> float:
    """Return the CPU that a call took, of its wall time."""
    wall, cpu = time.monotonic(), time.process_time()
    call()
    return 100 * (time.process_time() - cpu) / (time.monotonic() - wall)
