"""A NATS server that tests share, and a store on it with streams of its own for each case."""

import secrets
from contextlib import closing
from pathlib import Path

from tailrace import spi
from tailrace.options import StoreOptions, parse_url
from tailrace.testing.servers.nats import NatsCluster, NatsServer
from tailrace.testing.stores import StoreUnderTest


class NatsUnderTest(StoreUnderTest):
    """Streams of its own on a server, or on a cluster.

    Args:
        settings: Of the URL, such as ``layout`` and ``replicas``.
    """

    name = "nats"

    def __init__(self, server: NatsServer | NatsCluster, **settings: str) -> None:
        super().__init__()
        self.server = server
        self.stream = f"kit{secrets.token_hex(4)}"
        self._settings = settings
        self._copies = 0
        with closing(spi.open_schema(parse_url(self.url()), StoreOptions())) as schema:
            schema.apply()

    def url(self) -> str:
        return self.server.url(stream=self.stream, **self._settings)

    def open(self, options: StoreOptions | None = None) -> spi.Backend:
        return spi.open_store(parse_url(self.url()), options or StoreOptions())

    def backup(self) -> object:
        if isinstance(self.server, NatsCluster):
            return super().backup()
        self._copies += 1
        copy = self.server.folder / f"{self.stream}.{self._copies}"
        self.server.backup(copy)
        return copy

    def restore(self, backup: object) -> None:
        assert isinstance(self.server, NatsServer)
        assert isinstance(backup, Path)
        self.server.restore(backup)

    def close(self) -> None:
        super().close()
        for stream in self.server.streams():
            if self.stream in stream:
                self.server.drop(stream)
