"""Replicas behind nginx that are restarted in turn, as a deployment does, under readers who must not notice."""

import asyncio
import contextlib
import resource
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from tests.http.reader import LiveReader, path_of
from tests.http.server import Replica

from tailrace import connect
from tailrace.testing.servers.nginx import Nginx
from tailrace.testing.servers.waiting import until

BACK_WITHIN = 10.0


@contextlib.contextmanager
def _many_files() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize("readers", [50, pytest.param(500, marks=pytest.mark.long)])
def test_two_replicas_restarted_in_turn(replica: Callable[..., Replica], store: str, readers: int) -> None:
    both = replica(), replica()
    with Nginx([one.port for one in both], upstream="max_fails=0") as proxy, _many_files():
        with _Worker(store, every=0.05 if readers < 100 else 0.4) as worker:
            seen = asyncio.run(_restart_under(both, proxy.port, readers, worker))

    expected = [b"%d" % number for number in range(worker.written)]
    for reader in seen:
        assert reader.refused is None
        assert reader.payloads == expected[len(expected) - len(reader.payloads) :]
        assert reader.payloads
        assert reader.payloads[0] == b"0"
        # At first, after its own replica went down, and to hear that it is over; more if it met the other one too.
        assert reader.connections >= 3


class _Worker:
    """Appends numbers until it is told to seal."""

    def __init__(self, store: str, every: float = 0.05) -> None:
        self._every = every
        self._streams = connect(store)
        self._over = threading.Event()
        self._begin = threading.Event()
        self._thread = threading.Thread(target=self._work)
        self.written = 0

    def __enter__(self) -> "_Worker":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        self._streams.close()

    def begin(self) -> None:
        self._begin.set()

    def end(self) -> None:
        self._over.set()
        self._begin.set()
        self._thread.join()

    def _work(self) -> None:
        topic = self._streams.topic("rolling")
        assert self._begin.wait(300)
        while not self._over.wait(self._every):
            topic.append(b"%d" % self.written)
            self.written += 1
        topic.seal()


async def _restart_under(both: Sequence[Replica], port: int, count: int, worker: _Worker) -> list[LiveReader]:
    readers = [LiveReader(port, path_of("rolling", start="tail")) for _ in range(count)]
    running = [asyncio.ensure_future(reader.run()) for reader in readers]
    try:
        for reader in readers:
            await asyncio.wait_for(reader.connected.wait(), 60)
        worker.begin()
        for one in both:
            await asyncio.to_thread(_wait_for, worker, worker.written + 5)
            await asyncio.to_thread(one.stop)
            begun, written = time.monotonic(), worker.written
            # To the first record that was not there when the replica ended.
            for reader in readers:
                await _until_seen(reader, written)
            waited = time.monotonic() - begun
            assert waited < BACK_WITHIN, f"{waited:.1f} s"
            await asyncio.to_thread(one.start)
        await asyncio.to_thread(worker.end)
        for reader in readers:
            await asyncio.wait_for(reader.finished.wait(), 30)
        await asyncio.gather(*running)
    finally:
        for task in running:
            task.cancel()
    return readers


async def _until_seen(reader: LiveReader, number: int) -> None:
    async with asyncio.timeout(60), reader.changed:
        await reader.changed.wait_for(lambda: len(reader.events) > number)


def _wait_for(worker: _Worker, written: int) -> None:
    until(lambda: worker.written >= written, "the worker goes on", timeout=60)


@pytest.mark.long
def test_replicas_that_are_killed_in_turn(replica: Callable[..., Replica], store: str, tmp_path: Path) -> None:
    """Nothing is told to anybody: connections break in mid-event, and still nothing is lost or repeated."""
    both = replica(), replica()
    with Nginx([one.port for one in both], upstream="max_fails=0") as proxy, _Worker(store) as worker:

        async def kill_under() -> list[LiveReader]:
            readers = [LiveReader(proxy.port, path_of("rolling", start="tail")) for _ in range(50)]
            running = [asyncio.ensure_future(reader.run()) for reader in readers]
            for reader in readers:
                await asyncio.wait_for(reader.connected.wait(), 60)
            worker.begin()
            for one in (*both, *both):
                await asyncio.to_thread(_wait_for, worker, worker.written + 10)
                await asyncio.to_thread(one.kill)
                await asyncio.to_thread(one.start)
            await asyncio.to_thread(worker.end)
            await asyncio.wait_for(asyncio.gather(*running), 60)
            return readers

        seen = asyncio.run(kill_under())
    expected = [b"%d" % number for number in range(worker.written)]
    for reader in seen:
        assert reader.refused is None
        assert reader.payloads == expected
