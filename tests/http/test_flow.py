"""The flow that all this is for: checkpoint, dispatch the work, stream, break off, go on, on whichever replica."""

import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from tests.http.reader import Reader, path_of
from tests.http.server import LocalServer

from tailrace.testing.reading import Background


@pytest.fixture(params=["sqlite", "redis"])
def replicas(request: pytest.FixtureRequest, serve: Callable[..., LocalServer], store: str) -> list[LocalServer]:
    if request.param == "redis":
        store = f"{request.getfixturevalue('redis_url')}/0?prefix=flow-{random.getrandbits(40):x}"
    return [serve(store), serve(store)]


def test_break_off_after_any_record_and_go_on_elsewhere(replicas: list[LocalServer], client: httpx.Client) -> None:
    count = 12
    for k in range(count + 1):
        run, (here, there) = f"run:{k}", random.sample(replicas, 2)
        token = client.post(f"{here.url}/v1/topics/{run}/checkpoint").json()["token"]
        worker = threading.Thread(target=_work, args=(there, run, count))
        worker.start()
        with Reader(here.port, path_of(run, cursor=token)) as reader:
            reader.until(lambda seen: bool(seen.last_id))
            first = reader.until_records(k)
            last_id = reader.events[k - 1].id if k else token
            reader.reset()
        with Reader(there.port, path_of(run, cursor=token), last_id) as reader:
            rest = reader.until_records(count - k)
            worker.join(60)
            server = random.choice(replicas)
            server.streams.topic(run).seal()
            reader.to_end()

        assert first + rest == [b"%d" % number for number in range(count)]
        assert reader.events[-1].type == "end"


def test_the_first_event_is_there_in_160_of_160_runs_and_no_stale_one_later(
    replicas: list[LocalServer], client: httpx.Client
) -> None:
    def run(number: int) -> tuple[list[bytes], list[bytes]]:
        name = f"run:{number}"
        here, there = random.sample(replicas, 2)
        if number % 2:
            # Something was there before: nothing of that may show.
            client.post(f"{there.url}/v1/topics/{name}/records", content=b"stale")
        token = client.post(f"{here.url}/v1/topics/{name}/checkpoint").json()["token"]
        # The work begins, and says so, before anybody listens.
        client.post(f"{there.url}/v1/topics/{name}/records", content=b"started")
        with Reader(here.port, path_of(name, cursor=token)) as reader:
            first = reader.until_records(1)
        there.streams.topic(name).append(b"done")
        with Reader(there.port, path_of(name, cursor=token), reader.last_id) as again:
            return first, again.until_records(1)

    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(run, range(160)))

    assert seen == [([b"started"], [b"done"])] * 160


def test_s29c_no_event_is_in_neither_the_snapshot_nor_the_stream(server: LocalServer, client: httpx.Client) -> None:
    """Checkpoint first, then read the snapshot, then deliver from the checkpoint."""
    url = f"{server.url}/v1/topics/orders"
    topic = server.streams.topic("orders")
    snapshot: list[int] = []
    over = threading.Event()

    def work() -> None:
        number = 0
        while not over.is_set():
            # As applications do: first the state, then the news of it.
            snapshot.append(number)
            topic.append(b"%d" % number)
            number += 1
        topic.seal()

    worker = Background(work)
    starts = []
    try:
        for _ in range(15):
            token = client.post(f"{url}/checkpoint").json()["token"]
            starts.append((token, len(snapshot)))
    finally:
        # Or it would append for as long as the process lives.
        over.set()
    worker.result()

    for token, known in starts:
        with Reader(server.port, path_of("orders", cursor=token)) as reader:
            reader.to_end()
        delivered = [int(payload) for payload in reader.payloads]
        assert sorted({*range(known), *delivered}) == snapshot
        assert delivered == sorted(set(delivered))


def _work(server: LocalServer, run: str, count: int) -> None:
    topic = server.streams.topic(run)
    for number in range(count):
        topic.append(b"%d" % number)
