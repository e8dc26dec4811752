"""What a cancelled caller may and may not have caused."""

import asyncio
import gc
import threading
import time
from collections.abc import Callable, Coroutine, Sequence

import pytest
from tests.polling import until

from tailrace import CLOSED, DurableStreamRecord, DurableStreamUnavailableError, EngineOptions
from tailrace.aio import StreamClient
from tailrace.backends.memory import MemoryStore
from tailrace.spi import AppendOutcome, Entry, ReadOutcome, ReadRequest

GAUGES = ("subscriptions", "live_subscriptions")


class SlowStore(MemoryStore):
    """A memory store whose calls wait at a gate."""

    def __init__(self) -> None:
        super().__init__()
        self.open = threading.Event()
        self.open.set()
        self.entered = threading.Semaphore(0)

    def _pass(self) -> None:
        self.entered.release()
        assert self.open.wait(60.0)

    def read(self, requests: Sequence[ReadRequest]) -> Sequence[ReadOutcome]:
        self._pass()
        return super().read(requests)

    def append(self, entries: Sequence[Entry], timeout: float) -> Sequence[AppendOutcome]:
        self._pass()
        return super().append(entries, timeout)


def run(main: Callable[[], Coroutine[object, object, None]]) -> None:
    asyncio.run(main(), debug=True)


def test_cancelling_receive_again_and_again_loses_no_record() -> None:
    async def main() -> None:
        async with StreamClient(MemoryStore()) as streams:
            topic = streams.topic("t")
            async with await topic.subscribe_from_beginning() as subscription:
                found: list[bytes] = []

                async def write() -> None:
                    for number in range(300):
                        await topic.append(b"%d" % number)

                writer = asyncio.create_task(write())
                while len(found) < 300:
                    reading = asyncio.create_task(subscription.receive(10.0))
                    await asyncio.sleep(0)
                    await asyncio.sleep(0)
                    if not reading.done():
                        reading.cancel()
                    try:
                        record = await reading
                    except asyncio.CancelledError:
                        continue
                    assert isinstance(record, DurableStreamRecord)
                    found.append(record.payload)
                await writer
                assert found == [b"%d" % number for number in range(300)]

    run(main)


def test_a_receive_cancelled_during_a_pull_loses_and_repeats_nothing() -> None:
    async def main() -> None:
        store = SlowStore()
        async with StreamClient(store, options=EngineOptions(page_records=1)) as streams:
            topic = streams.topic("t")
            await topic.append_many([b"%d" % number for number in range(9)])
            async with await topic.subscribe_from_beginning() as subscription:
                found = [(await subscription.receive(5.0)).payload for _ in range(2)]  # type: ignore[union-attr]
                for _ in range(3):
                    store.open.clear()
                    while store.entered.acquire(blocking=False):
                        pass
                    first = asyncio.create_task(subscription.receive(10.0))
                    await until(lambda: store.entered.acquire(blocking=False), "it is in the store", step=0.001)
                    first.cancel()
                    second = asyncio.create_task(subscription.receive(10.0))
                    await asyncio.sleep(0.01)
                    store.open.set()
                    found.append((await second).payload)  # type: ignore[union-attr]
                while (record := await subscription.receive(0.05)) is not None:
                    found.append(record.payload)  # type: ignore[union-attr]
                assert found == [b"%d" % number for number in range(9)]

    run(main)


def test_cancelling_append_leaves_at_most_one_record_and_the_next_one_works() -> None:
    async def main() -> None:
        store = SlowStore()
        async with StreamClient(store) as streams:
            topic = streams.topic("t")
            store.open.clear()
            appends = [asyncio.create_task(topic.append(b"%d" % number)) for number in range(20)]
            await until(lambda: store.entered.acquire(blocking=False), "it is in the store", step=0.001)
            for task in appends:
                task.cancel()
            assert all(
                isinstance(result, asyncio.CancelledError)
                for result in await asyncio.gather(*appends, return_exceptions=True)
            )
            store.open.set()
            await topic.append(b"after")
            async with await topic.subscribe_from_beginning() as subscription:
                found = []
                while (record := await subscription.receive(0.05)) is not None:
                    assert isinstance(record, DurableStreamRecord)
                    found.append(record.payload)
            assert len(found) == len(set(found))
            assert found[-1] == b"after"

    run(main)


def test_cancelling_enter_closes_the_subscription_and_releases_it() -> None:
    async def main() -> None:
        store = SlowStore()
        async with StreamClient(store) as streams:
            subscription = await streams.topic("t").subscribe_from_tail()
            store.open.clear()
            entering = asyncio.create_task(subscription.__aenter__())
            await until(lambda: store.entered.acquire(blocking=False), "it is in the store", step=0.001)
            entering.cancel()
            with pytest.raises(asyncio.CancelledError):
                await entering
            store.open.set()
            assert await subscription.receive(0) is CLOSED
            await until(lambda: not any(streams.stats()[gauge] for gauge in GAUGES), "nothing is registered")
            with pytest.raises(DurableStreamUnavailableError):
                await subscription.__aenter__()

    run(main)


def test_cancelling_subscribe_acquires_nothing() -> None:
    async def main() -> None:
        async with StreamClient(MemoryStore()) as streams:
            for _ in range(50):
                task = asyncio.create_task(streams.topic("t").subscribe_from_tail())
                await asyncio.sleep(0)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            gc.collect()
            assert streams.stats()["subscriptions"] == 0

    run(main)


def test_close_from_another_task_or_thread_ends_a_waiting_iteration() -> None:
    async def main() -> None:
        async with StreamClient(MemoryStore()) as streams:
            for close_elsewhere in (False, True):
                async with await streams.topic("t").subscribe_from_tail() as subscription:
                    reading = asyncio.create_task(anext(subscription, None))
                    await until(lambda: streams.stats()["live_subscriptions"] == 1, "it waits")
                    started = time.monotonic()
                    if close_elsewhere:
                        threading.Thread(target=subscription.close).start()
                    else:
                        subscription.close()
                    assert await asyncio.wait_for(reading, 10.0) is None
                    assert time.monotonic() - started < 5.0

    run(main)


def test_several_loops_share_one_client() -> None:
    store = MemoryStore()
    client = StreamClient(store)
    topic = client.topic("t")
    ready = threading.Barrier(4)
    answers: list[list[bytes]] = []

    async def read() -> None:
        async with await topic.subscribe_from_beginning() as subscription:
            await asyncio.to_thread(ready.wait, 60)
            answers.append([record.payload async for record in subscription])

    async def write() -> None:
        await asyncio.to_thread(ready.wait, 60)
        for number in range(50):
            await topic.append(b"%d" % number)
        await topic.seal()

    threads = [threading.Thread(target=lambda main=main: asyncio.run(main())) for main in (read, read, read, write)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20.0)
    asyncio.run(client.close())
    assert answers == [[b"%d" % number for number in range(50)]] * 3


def test_an_idle_receive_returns_at_its_timeout_and_a_thousand_of_them_stop_nothing() -> None:
    async def main() -> None:
        async with StreamClient(MemoryStore()) as streams:
            subscriptions = []
            for number in range(1000):
                subscription = await streams.topic(str(number)).subscribe_from_tail()
                subscriptions.append(await subscription.__aenter__())
            started = time.monotonic()
            assert set(await asyncio.gather(*(s.receive(0.3) for s in subscriptions))) == {None}
            # One after the other they would take five minutes.
            assert 0.3 <= time.monotonic() - started < 60.0
            for subscription in subscriptions:
                subscription.close()

    run(main)
