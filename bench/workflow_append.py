"""Appends to streams of runs on PostgreSQL: requests of 1 and of 50 items, against streams of DBOS beside them."""

import itertools
import json
import subprocess
import sys
import threading
import time
import venv
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from bench.pairs import Result, paired
from tailrace.options import StoreOptions, parse_url
from tailrace.spi import open_store
from tailrace.testing.servers.postgres import PostgresServer
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.model import NewItem, Run

PEER = Path(__file__).parent / "peers" / "dbos_streams.py"
PACKAGES = ("dbos==3.4.0", "psycopg[binary]>=3.2")
PAYLOAD = json.dumps({"text": "x" * 180}).encode()
SECONDS = 2.0


def run(pairs: int) -> Iterator[Result]:
    """Measure each size of a request, alone and from 32 threads, each with a stream of its own."""
    with PostgresServer(synchronous=True) as server, _dbos(server) as peer:
        with closing(EmbeddedService(open_store(parse_url(server.url()), StoreOptions(create=True)))) as service:
            for items, writers in itertools.product((1, 50), (1, 32)):
                yield paired(
                    f"append requests of {items} item{'s' * (items > 1)}, {writers} at once, against DBOS write_stream",
                    "items/s",
                    lambda items=items, writers=writers: rate(service, items, writers),  # type: ignore[misc]
                    lambda items=items, writers=writers: peer.rate(items, writers),  # type: ignore[misc]
                    pairs=pairs,
                    goal=1.0 if writers > 1 else None,
                )


def rate(service: EmbeddedService, items: int, writers: int) -> float:
    """Return items per second of so many threads, all with keys, as producers have that retry."""
    counts: list[int] = []
    deadline = time.monotonic() + SECONDS
    name = f"bench-{time.monotonic_ns()}"

    def write(number: int) -> None:
        stream = Run("default", name, str(number)).stream("tokens")
        written = 0
        while time.monotonic() < deadline:
            batch = [NewItem(payload=PAYLOAD, idempotency_key=f"{written + n}") for n in range(items)]
            service.append(stream, batch)
            written += items
            if written % 5000 < items:
                # A reader has come by: without one the cap would end it.
                service.subscribe(stream, from_offset=written - 1)
        counts.append(written)

    began = time.monotonic()
    threads = [threading.Thread(target=write, args=(number,)) for number in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.monotonic() - began)


class Peer:
    """The other process."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def rate(self, items: int, writers: int) -> float:
        """Return items per second of so many workflows."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{items} {writers} {SECONDS}\n")
        self._process.stdin.flush()
        return float(self.line())

    def line(self) -> str:
        """Return what it says next."""
        assert self._process.stdout is not None
        return self._process.stdout.readline()


@contextmanager
def _dbos(server: PostgresServer) -> Iterator[Peer]:
    server.create_database("dbos")
    command = [str(_installed()), str(PEER), server.url("dbos")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as process:
        peer = Peer(process)
        if peer.line() != "ready\n":
            raise RuntimeError("DBOS did not start")
        try:
            yield peer
        finally:
            process.kill()


def _installed() -> Path:
    """Return the Python of the peer's environment, making it at first."""
    folder = Path(sys.prefix) / "bench-peers" / "dbos"
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    return python
