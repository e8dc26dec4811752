"""A server that tests share, in a process of its own, and a store over HTTP that it serves for each case."""

import base64
import pickle
import secrets
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from tests.postgres_server import PostgresUnderTest, postgres_server
from tests.redis_server import RedisUnderTest, redis_server

from tailrace import spi
from tailrace.options import StoreOptions, parse_url
from tailrace.retention import Retention
from tailrace.testing.builtin import SqliteUnderTest
from tailrace.testing.peers import Argument, OtherProcess, Peer
from tailrace.testing.servers.ports import PortClaim
from tailrace.testing.servers.waiting import line_of
from tailrace.testing.stores import StoreUnderTest

TOP = Path(__file__).parents[1]


class HttpServer:
    """``tests.serving`` in a process of its own, which can be killed and started again. Thread-safe."""

    def __init__(self) -> None:
        self._claim = PortClaim()
        self._lock = threading.Lock()
        self._mounted: dict[str, tuple[Any, ...]] = {}
        self.port = self._claim.port
        self.start()

    def start(self) -> None:
        """Start it, with what was mounted before; return once it answers."""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.serving", str(self.port)],
            cwd=TOP,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        assert self._answer() == self.port
        for arguments in self._mounted.values():
            self.ask("mount", *arguments)

    def kill(self) -> None:
        """End it at once, in the middle of whatever it does."""
        self.process.kill()
        self._gone()

    def close(self) -> None:
        """End it."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self._gone()
        self._claim.release()

    def mount(self, store: str, options: StoreOptions | None = None, **settings: object) -> str:
        """Serve a store at a path of its own; return that."""
        prefix = secrets.token_hex(6)
        self._mounted[prefix] = (prefix, store, options or StoreOptions(), settings)
        self.ask("mount", *self._mounted[prefix])
        return prefix

    def unmount(self, prefix: str) -> None:
        """End it as a server does that shuts down."""
        del self._mounted[prefix]
        self.ask("unmount", prefix)

    def url(self, prefix: str) -> str:
        """Return where clients find what is mounted."""
        return f"http://127.0.0.1:{self.port}/{prefix}"

    def ask(self, name: str, *arguments: object) -> Any:
        """Have something done over there; return or raise what it does."""
        with self._lock:
            assert self.process.stdin is not None
            self.process.stdin.write(base64.b64encode(pickle.dumps((name, *arguments))) + b"\n")
            answer = self._answer()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _answer(self) -> Any:
        line = line_of(self.process)
        assert line, f"the server ended with status {self.process.wait(30)}"
        return pickle.loads(base64.b64decode(line))

    def _gone(self) -> None:
        self.process.wait(30)
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()


@contextmanager
def http_server() -> Iterator[HttpServer]:
    """Run a server on a free port."""
    server = HttpServer()
    try:
        yield server
    finally:
        server.close()


Served: TypeAlias = Callable[[Path], StoreUnderTest | None]
"""Makes what is served in one case, in a folder of that case; ``None`` for a memory store."""


@contextmanager
def served_by(kind: str) -> Iterator[Served]:
    """Run the server that stores of a kind need, if there is one."""
    if kind == "memory":
        yield lambda _: None
    elif kind == "sqlite":
        yield SqliteUnderTest
    elif kind == "redis":
        with redis_server() as url:
            yield lambda _: RedisUnderTest(url)
    else:
        assert kind == "postgres"
        with postgres_server() as server:
            yield lambda _: PostgresUnderTest(server)


class HttpUnderTest(StoreUnderTest):
    """A store over HTTP; ``operations``, copies and what an operator does are of the store that is served.

    Args:
        server: Serves it.
        inner: What is served; ``None`` for a memory store, which lives in the server.
    """

    def __init__(self, server: HttpServer, inner: StoreUnderTest | None) -> None:
        super().__init__()
        self.name = f"http-{'memory' if inner is None else inner.name}"
        self.server = server
        self.inner = inner if inner is not None else _Memory(server)
        self._mounts: list[tuple[StoreOptions, str]] = []

    def open(self, options: StoreOptions | None = None) -> spi.Backend:
        options = options or StoreOptions()
        # The options are the server's; how long the client waits for a look is not what a case sets.
        return spi.open_store(parse_url(self.server.url(self._mounted(options))), StoreOptions())

    def url(self) -> str:
        return self.server.url(self._mounted(StoreOptions()))

    def backup(self) -> object:
        return self.inner.backup()

    def restore(self, backup: object) -> None:
        self.inner.restore(backup)

    def hold(self, topic: str) -> AbstractContextManager[None]:
        return self.inner.hold(topic)

    def peer(self) -> Peer:
        return _HttpPeer(self.url(), self.operations)

    @property
    def operations(self) -> spi.Maintenance:
        return self.inner.operations

    def close(self) -> None:
        super().close()
        for _, prefix in self._mounts:
            self.server.unmount(prefix)
        self.inner.close()

    def _mounted(self, options: StoreOptions) -> str:
        for known, prefix in self._mounts:
            if known == options:
                return prefix
        where = self.inner.url()
        assert where is not None
        self._mounts.append((options, self.server.mount(where, options)))
        return self._mounts[-1][1]


class _Memory(StoreUnderTest):
    """A memory store in the server's process."""

    def __init__(self, server: HttpServer) -> None:
        super().__init__()
        self._server = server
        self._where = f"memory:{secrets.token_hex(6)}"

    def url(self) -> str:
        return self._where

    def backup(self) -> object:
        return self.perform("", "backup")

    def restore(self, backup: object) -> None:
        self.perform("", "restore", backup)

    @property
    def operations(self) -> spi.Maintenance:
        return _Operations(self)

    def close(self) -> None:
        self._server.ask("forget", self._where)

    def perform(self, part: str, name: str, *arguments: object) -> Any:
        return self._server.ask("perform", self._where, part, name, arguments)


class _Operations(spi.Maintenance):
    def __init__(self, memory: _Memory) -> None:
        self._memory = memory

    def topics(self, prefix: str = "", after: str = "", limit: int = 1000) -> Sequence[spi.TopicInfo]:
        found: Sequence[spi.TopicInfo] = self._memory.perform("operations", "topics", prefix, after, limit)
        return found

    def trim(self, topic: str, retention: Retention) -> int:
        return int(self._memory.perform("operations", "trim", topic, retention))

    def delete(self, topic: str) -> bool:
        return bool(self._memory.perform("operations", "delete", topic))

    def sweep(self, budget: spi.SweepBudget) -> spi.SweepReport:
        report: spi.SweepReport = self._memory.perform("operations", "sweep", budget)
        return report


class _HttpPeer(OtherProcess):
    """A client in another process; what clients over HTTP can not do is done by the operator."""

    def __init__(self, url: str, operations: spi.Maintenance) -> None:
        super().__init__(url)
        self._operations = operations

    def _ask(self, operation: str, topic: str, argument: Argument) -> None:
        if operation == "delete":
            self._operations.delete(topic)
        elif operation == "trim" and isinstance(argument, int):
            self._operations.trim(topic, Retention(max_records=argument))
        else:
            super()._ask(operation, topic, argument)
