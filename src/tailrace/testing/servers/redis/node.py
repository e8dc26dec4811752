"""What a server and a sentinel have in common: a folder, a port, a process, and commands to talk to it."""

import shutil
import signal
import ssl
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from tailrace.testing.servers.errors import ServerFailedError
from tailrace.testing.servers.ports import LOOPBACK, PortClaim
from tailrace.testing.servers.process import ServerProcess
from tailrace.testing.servers.redis.flavours import Flavour
from tailrace.testing.servers.redis.resp import Connection, Reply, RespError, Word
from tailrace.testing.servers.started import Started
from tailrace.testing.servers.waiting import until

_OTHER_PORTS = 5
_STARTS_WITHIN = 30.0
_BUS_OFFSET = 10000


class RedisNode(Started):
    """One process of the server program. A context manager that starts and removes it; not thread-safe.

    Attributes:
        flavour: Which program.
        folder: Its own, with configuration, log and data; removed by ``close``.
        password: Of the default user, if it has one.
    """

    _mode: tuple[str, ...] = ()

    def __init__(self, flavour: Flavour, *, password: str | None = None, bus: bool = False) -> None:
        self.flavour = flavour
        self.password = password
        self.folder = Path(tempfile.mkdtemp(prefix="tailrace-redis-"))
        self._offsets: Sequence[int] = (_BUS_OFFSET,) if bus else ()
        self._claim = PortClaim(self._offsets)
        self._process: ServerProcess | None = None
        self._started_once = False

    @property
    def port(self) -> int:
        """Where it listens; the same for life, once it has been started."""
        return self._claim.port

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        return LOOPBACK, self.port

    @property
    def alive(self) -> bool:
        """Whether its process runs; a frozen one does."""
        return self._process is not None and self._process.alive

    @property
    def pid(self) -> int:
        """Of the process that runs, or ran last."""
        assert self._process is not None, "it was never started"
        return self._process.pid

    @property
    def log(self) -> Path:
        """What it has printed, over all its lives."""
        return self.folder / "server.log"

    def start(self, *options: str) -> None:
        """Start it, on the port and the data that it had before, and wait until it serves. Idempotent.

        Args:
            options: Of the command line, for this start only: ``--appendonly no`` is two of them.

        Raises:
            ServerFailedError: It ended instead, or took too long; the message has the end of its log.
        """
        if self.alive:
            return
        for _ in range(_OTHER_PORTS):
            printed = self.log.stat().st_size if self.log.exists() else 0
            self._process = ServerProcess(
                self._command(*options), folder=self.folder, log=self.log, environment=self.flavour.environment
            )
            until(self._serves_or_ended, f"{self!r} serves", timeout=_STARTS_WITHIN, step=0.004)
            if self.alive:
                self._started_once = True
                return
            # Others than us take ports too, between our look and the server's bind. Later it may not move.
            if self._started_once or b"in use" not in self.log.read_bytes()[printed:]:
                break
            self._claim.release()
            self._claim = PortClaim(self._offsets)
        assert self._process is not None
        raise ServerFailedError(f"{self!r} ended with status {self._process.status}; {self._process.log_end()}")

    def stop(self) -> None:
        """Ask it to end, as an operator does, and wait until it has. Its data stays. Idempotent."""
        if self._process is not None:
            self._process.terminate()

    def kill(self) -> None:
        """End it with SIGKILL. What it has written to files stays. Idempotent."""
        if self._process is not None:
            self._process.kill()

    def restart(self) -> None:
        """Stop and start."""
        self.stop()
        self.start()

    def freeze(self) -> None:
        """Let it hang, with its connections open, until ``thaw``: the kernel still accepts new ones for it."""
        assert self._process is not None, "it was never started"
        self._process.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        assert self._process is not None, "it was never started"
        self._process.signal(signal.SIGCONT)

    def close(self) -> None:
        """End it, remove its folder, give its port back. Idempotent."""
        self.kill()
        self._claim.release()
        shutil.rmtree(self.folder, ignore_errors=True)

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

    def _command(self, *options: str) -> list[str]:
        file = self.folder / "node.conf"
        # Later it is the server's own: what it or a sentinel has rewritten, such as whom it follows, holds.
        if not self._started_once:
            file.write_text("".join(f"{line}\n" for line in self._configuration()), encoding="utf-8")
        return [str(self.flavour.binary), str(file), *self._mode, *options]

    def _tls(self) -> ssl.SSLContext | None:
        return None

    def _serves_or_ended(self) -> bool:
        if not self.alive:
            return True
        try:
            # Where the port was taken meanwhile, it may be another server that answers.
            return self.call("PING", timeout=2.0) == b"PONG" and self.info("server")["process_id"] == str(self.pid)
        except RespError as refused:
            # It listens before it has read its data.
            if refused.code == "LOADING":
                return False
            raise
