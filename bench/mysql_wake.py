"""From an append to a record in another process, on MariaDB, which tells nobody: it is asked."""

from collections.abc import Iterator

import tailrace
from bench.pairs import Result
from bench.waking import absolute
from tailrace.testing.servers.mariadb import MariadbServer


def run(pairs: int) -> Iterator[Result]:
    """Measure the median latency."""
    with MariadbServer(synchronous=True) as server:
        url = server.url(server.create_database())
        with tailrace.connect(url, create=True) as streams:
            store = streams.capabilities.store
        yield from absolute(store, url, pairs, None)
