"""Servers under test: a thread of this process, to look inside; or processes of their own, to be killed."""

import asyncio
import json
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import hypercorn.asyncio
import hypercorn.config
import uvicorn
from starlette.middleware.cors import CORSMiddleware
from typing_extensions import override

from tailrace import StreamClient
from tailrace.asgi import Receive, Scope, Send
from tailrace.opening import open_backend
from tailrace.server import Application, Gate, ServerSettings, listening, process
from tailrace.testing.servers.node import ServerNode
from tailrace.testing.servers.ports import PortClaim
from tailrace.testing.servers.started import Started
from tailrace.testing.servers.waiting import listens, until
from tailrace.tokens import KeyRing

T = TypeVar("T")


class ASGI(Protocol):
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...


Run = Callable[[ASGI, int, asyncio.Event], Any]


async def with_uvicorn(application: ASGI, port: int, ended: asyncio.Event) -> None:
    """Serve until the event is set."""
    await _uvicorn(
        uvicorn.Config(application, log_config=None, lifespan="on", timeout_graceful_shutdown=5), port, ended
    )


async def with_our_own(application: ASGI, port: int, ended: asyncio.Event) -> None:
    """Serve until the event is set, with uvicorn as ``tailrace serve`` has it."""
    await _uvicorn(process.configured(application, grace=7), port, ended)


async def _uvicorn(config: uvicorn.Config, port: int, ended: asyncio.Event) -> None:
    server = uvicorn.Server(config)
    listener = listening.listen("127.0.0.1", port)
    serving = asyncio.ensure_future(server.serve([listener]))
    await ended.wait()
    server.should_exit = True
    await serving


async def with_hypercorn(application: ASGI, port: int, ended: asyncio.Event) -> None:
    """Serve until the event is set."""
    config = hypercorn.config.Config()
    config.bind = [f"127.0.0.1:{port}"]
    config.graceful_timeout = 5
    config.accesslog, config.errorlog = None, None
    await hypercorn.asyncio.serve(application, config, shutdown_trigger=ended.wait)  # type: ignore[arg-type]


def with_cors(application: ASGI) -> ASGI:
    """Let pages of other origins read."""
    return CORSMiddleware(application, allow_origins=["*"])  # type: ignore[arg-type,return-value]


class LocalServer(Started):
    """A server in a thread of this process.

    Args:
        store: A URL.
        settings: Of the server; heartbeats are half a second apart if nothing is said.
        ring: Keys of its tokens.
        around: Puts something before the application.
        gate: Who is let in; everybody if nothing is said.
        run: Which server.
    """

    def __init__(
        self,
        store: str,
        *,
        settings: Mapping[str, Any] | None = None,
        ring: KeyRing | None = None,
        around: Callable[[Application], ASGI] = lambda application: application,
        gate: Gate | None = None,
        run: Run = with_uvicorn,
        **options: Any,
    ) -> None:
        self.store = store
        self._settings = ServerSettings(**{"heartbeat": 0.5, "retry": 0.2, **(settings or {})})
        self._ring = ring or KeyRing.new()
        self._gate = gate
        self._around, self._run, self._options = around, run, options
        self._claim = PortClaim()
        self._thread: threading.Thread | None = None
        self.application: Application
        self.streams: StreamClient

    @property
    def port(self) -> int:
        return self._claim.port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @override
    def start(self) -> None:
        backend, options = open_backend(self.store, self._options)  # type: ignore[arg-type]
        self.application = Application(backend, self._ring, gate=self._gate, settings=self._settings, options=options)
        # Somebody else on the same store, as a worker is: it shares what a memory store holds.
        self.streams = StreamClient(backend)
        begun = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(begun)), name="local-server")
        self._thread.start()
        assert begun.wait(60), "its loop does not run"
        until(self._listens, "the server listens")

    @override
    def close(self) -> None:
        if self._thread is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._ended.set)
            self._thread.join(20)
            assert not self._thread.is_alive(), "the server hangs"
        self._claim.release()

    def call(self, work: Callable[[], T]) -> T:
        """Run something in the server's loop."""

        async def run() -> T:
            return work()

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(10)

    def _listens(self) -> bool:
        assert self._thread is not None
        assert self._thread.is_alive(), "the server ended instead of listening"
        return listens(("127.0.0.1", self.port))

    async def _serve(self, begun: threading.Event) -> None:
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        begun.set()
        await self._run(self._around(self.application), self.port, self._ended)
        await self.application.close()


class Replica(ServerNode):
    """A server in a process of its own, on a port that it keeps.

    Args:
        store: A URL.
        keys: The file of the keys that all replicas have.
        settings: Of the server.
    """

    def __init__(self, store: str, keys: Path, **settings: Any) -> None:
        super().__init__("replica")
        self._words = (store, str(keys), json.dumps({"heartbeat": 0.5, "retry": 0.2, **settings}))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @override
    def _command(self, *options: str) -> Sequence[str]:
        script = str(Path(__file__).with_name("replica.py"))
        return [sys.executable, script, str(self.port), *self._words]

    @override
    def _serves(self) -> bool:
        return listens(self.address)
