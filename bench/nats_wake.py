"""From publishing to receiving, in two processes: an append and a subscription, against an ordered consumer."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import closing
from multiprocessing.connection import Connection

import nats
from nats.aio.msg import Msg

import tailrace
from bench.pairs import Result, paired
from bench.raw_nats import SUBJECT, Raw
from bench.waking import PAYLOAD, absolute, append, receive, times
from tailrace.testing.servers.nats import NatsServer


def run(pairs: int) -> Iterator[Result]:
    """Measure the median latency, as a rate (its inverse) against an ordered consumer, and absolutely."""
    with NatsServer() as server:
        url = server.url()
        with tailrace.connect(url, create=True) as streams:
            store = streams.capabilities.store
        with closing(Raw(url.removesuffix("/"))) as raw:
            yield paired(
                f"{store}: append to receive between two processes, p50, against an ordered consumer",
                "1/s",
                lambda: 1 / times(url, receive, append).p50,
                lambda: 1 / times(url, hear, lambda _: lambda: raw.publish(PAYLOAD)).p50,
                pairs=pairs,
                goal=1 / 2,
            )
        yield from absolute(store, url, pairs, None)


def hear(url: str, samples: int, there: Connection) -> None:
    """Receive every new message, and send back when each came."""
    asyncio.run(_hear(url, samples, there))


async def _hear(url: str, samples: int, there: Connection) -> None:
    arrived: list[float] = []
    everything = asyncio.Event()

    async def take(_: Msg) -> None:
        arrived.append(time.monotonic())
        if len(arrived) == samples:
            everything.set()

    client = await nats.connect(url.removesuffix("/"))
    jetstream = client.jetstream()
    await jetstream.subscribe(SUBJECT, ordered_consumer=True, cb=take, deliver_policy=nats.js.api.DeliverPolicy.NEW)
    there.send("ready")
    await everything.wait()
    there.send(arrived)
    await client.close()
