"""Trunks that are joined, led and left behind while the topic is written, trimmed, sealed and replaced, by seeds."""

import asyncio
import random
from collections import Counter
from pathlib import Path

import pytest
from tests.http.interleaving import TOPIC, ReaderAt, Truth, Writer

from tailrace.opening import open_backend
from tailrace.server import Application, ServerSettings
from tailrace.sse import batches, trunk
from tailrace.tokens import KeyRing

READERS = 25


@pytest.mark.parametrize("seed", range(2))
def test_every_reader_sees_what_follows_its_start_or_is_told(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trunk, "KEPT_SECONDS", 0.1)
    ends = asyncio.run(_weave(seed, "memory://", steps=100))

    assert ends["end"] > 0
    assert ends["end"] + ends["gap"] >= READERS


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 130))
@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_every_reader_of_many_histories(seed: int, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trunk, "KEPT_SECONDS", random.Random(seed).choice((0.02, 0.1, 2.0)))
    monkeypatch.setattr(batches, "KEPT_BYTES", random.Random(seed).choice((2_000, 200_000, 2**20)))

    asyncio.run(_weave(seed, "memory://" if store == "memory" else f"sqlite:///{tmp_path}/woven.db", steps=250))


async def _weave(seed: int, url: str, *, steps: int) -> Counter[str]:
    chance = random.Random(seed)
    backend, options = open_backend(url, {})
    application = Application(backend, KeyRing.new(), settings=ServerSettings(heartbeat=0.2), options=options)
    truth, over = Truth(), asyncio.Event()
    service = application.service
    writer = Writer(service.topic(TOPIC), service.operations, truth, random.Random(chance.random()))
    readers = [ReaderAt(application, truth, random.Random(chance.random())) for _ in range(READERS)]
    async with asyncio.TaskGroup() as tasks:
        for reader in readers:
            tasks.create_task(reader.read(to_the_end=over))
        await writer.write(steps)
        over.set()
    assert service.live.count == 0
    assert service.live.trunks._shared == {}
    await application.close()
    return Counter(end for reader in readers for end in reader.ends)
