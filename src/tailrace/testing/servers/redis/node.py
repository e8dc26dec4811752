"""What a server and a sentinel have in common: a configuration that they may rewrite, and commands to talk to them."""

import ssl
from collections.abc import Iterable, Mapping

from typing_extensions import override

from tailrace.testing.servers.node import ServerNode
from tailrace.testing.servers.redis.flavours import Flavour
from tailrace.testing.servers.redis.resp import Connection, Reply, RespError, Word

_BUS_OFFSET = 10000


class RedisNode(ServerNode):
    """One process of the server program. A context manager that starts and removes it; not thread-safe.

    Attributes:
        flavour: Which program.
        password: Of the default user, if it has one.
    """

    _mode: tuple[str, ...] = ()

    def __init__(self, flavour: Flavour, *, password: str | None = None, bus: bool = False) -> None:
        super().__init__("redis", offsets=(_BUS_OFFSET,) if bus else ())
        self.flavour = flavour
        self.password = password

    def connect(self, *, timeout: float = 10.0) -> Connection:
        """Open a connection, as the default user.

        Raises:
            OSError: It is not there.
        """
        return Connection(self.port, password=self.password, tls=self._tls(), timeout=timeout)

    def call(self, *words: Word, timeout: float = 10.0) -> Reply:
        """Perform one command over a new connection.

        Raises:
            RespError: The server says no.
            OSError: It is not there.
        """
        with self.connect(timeout=timeout) as connection:
            return connection.call(*words)

    def info(self, section: str) -> dict[str, str]:
        """Return a section of INFO."""
        reply = self.call("INFO", section)
        assert isinstance(reply, bytes)
        pairs = (line.partition(":") for line in reply.decode().splitlines() if ":" in line)
        return {name: value for name, _, value in pairs}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.flavour.name} on {self.port}>"

    def _configuration(self) -> Iterable[str]:
        """Return the lines of the configuration file for the first start."""
        raise NotImplementedError

    @override
    def _command(self, *options: str) -> list[str]:
        file = self.folder / "node.conf"
        # Later it is the server's own: what it or a sentinel has rewritten, such as whom it follows, holds.
        if not self._started_once:
            file.write_text("".join(f"{line}\n" for line in self._configuration()), encoding="utf-8")
        return [str(self.flavour.binary), str(file), *self._mode, *options]

    @override
    def _environment(self) -> Mapping[str, str]:
        return self.flavour.environment

    def _tls(self) -> ssl.SSLContext | None:
        return None

    @override
    def _serves(self) -> bool:
        try:
            # Where the port was taken meanwhile, it may be another server that answers.
            return self.call("PING", timeout=2.0) == b"PONG" and self.info("server")["process_id"] == str(self.pid)
        except RespError as refused:
            # It listens before it has read its data.
            if refused.code == "LOADING":
                return False
            raise
