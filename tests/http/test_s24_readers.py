"""S24 over HTTP: slow and stalled readers cost bounded memory, delay nobody, and still get everything."""

import asyncio
import threading
import time
from collections.abc import Callable

import psutil
import pytest
from tests.http.reader import LiveReader, Reader, path_of
from tests.http.server import Replica

from tailrace import connect

SIZE = 4096
MOST = 64 * 2**20
"""Bytes by which a server may grow: what it keeps for live readers, and what the sockets of stalled ones hold."""


@pytest.mark.parametrize(
    ("fast", "stalled", "records", "seconds"),
    [(20, 20, 3_000, 1.5), pytest.param(40, 50, 10_000, 60.0, marks=pytest.mark.long)],
)
def test_slow_stalled_and_fast_readers(
    replica: Callable[..., Replica], store: str, fast: int, stalled: int, records: int, seconds: float
) -> None:
    server = replica()
    process = psutil.Process(server.pid)
    path = path_of("flood", start="tail")
    idle = [_primed(server.port, path) for _ in range(stalled)]
    slow = _primed(server.port, path)
    before = process.memory_info().rss
    peak = before
    payloads = [b"%06d" % number + b"x" * (SIZE - 6) for number in range(records)]
    slowest_append = 0.0

    def write() -> None:
        nonlocal slowest_append, peak
        with connect(store) as streams:
            topic = streams.topic("flood")
            for start in range(0, records, 100):
                begun = time.monotonic()
                topic.append_many(payloads[start : start + 100])
                slowest_append = max(slowest_append, time.monotonic() - begun)
                peak = max(peak, process.memory_info().rss)
                slow.until_records(start // 1000 + 1)
                time.sleep(seconds * 100 / records)
            topic.seal()

    async def race() -> list[LiveReader]:
        readers = [LiveReader(server.port, path) for _ in range(fast)]
        running = [asyncio.ensure_future(reader.run()) for reader in readers]
        for reader in readers:
            await asyncio.wait_for(reader.connected.wait(), 60)
        writer = threading.Thread(target=write)
        writer.start()
        await asyncio.wait_for(asyncio.gather(*running), 120)
        await asyncio.to_thread(writer.join)
        return readers

    quick = asyncio.run(race())

    for reader in quick:
        assert reader.payloads == payloads
    assert peak - before < MOST, f"{(peak - before) / 2**20:.0f} MiB"
    assert slowest_append < 5
    for late in (slow, *idle[:: max(1, stalled // 5)]):
        late.to_end()
        assert late.payloads == payloads
        assert late.events[-1].type == "end"
        late.close()
    for reader_ in idle:
        reader_.close()


def _primed(port: int, path: str) -> Reader:
    reader = Reader(port, path)
    reader.until(lambda seen: bool(seen.last_id))
    return reader
