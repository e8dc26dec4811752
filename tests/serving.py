"""A server in a process of its own, for tests: ``python -m tests.serving PORT``. Told what to do in lines on its input.

It mounts any number of stores, each below a path of its own, and performs operations on a memory store, which nobody
else could reach. A request is a pickled tuple in base64, and so is the answer.
"""

import asyncio
import base64
import pickle
import sys
import threading
from typing import Any

import uvicorn

from tailrace import spi
from tailrace.options import StoreOptions, parse_url
from tailrace.server import Application, ServerSettings
from tailrace.testing.builtin import MemoryUnderTest
from tailrace.tokens import KeyRing


class Mounts:
    """An ASGI application that hands each request to the one that is mounted at the first segment of its path."""

    def __init__(self) -> None:
        self.applications: dict[str, Application] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        _, prefix, _ = (*scope["path"].split("/", 2), "")[:3]
        application = self.applications.get(prefix)
        if application is None:
            await send({"type": "http.response.start", "status": 404, "headers": []})
            await send({"type": "http.response.body", "body": b"nothing is mounted here"})
            return
        await application({**scope, "root_path": f"/{prefix}"}, receive, send)


class Serving:
    """Performs what is asked. The loop runs in another thread."""

    def __init__(self, port: int) -> None:
        self._mounts = Mounts()
        self._memories: dict[str, MemoryUnderTest] = {}
        self._ring = KeyRing.new()
        config = uvicorn.Config(
            self._mounts, "127.0.0.1", port, lifespan="off", log_level="error", timeout_graceful_shutdown=2
        )
        self._server = uvicorn.Server(config)
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()

    def start(self) -> int:
        """Serve; return the port."""
        threading.Thread(target=self._run, daemon=True).start()
        self._started.wait(30)
        return int(self._server.servers[0].sockets[0].getsockname()[1])

    def mount(self, prefix: str, store: str, options: StoreOptions, settings: dict[str, Any]) -> None:
        """Serve the store of a URL, or a handle on a memory store by its name."""
        if store.startswith("memory:"):
            backend = self._memories.setdefault(store, MemoryUnderTest()).open(options)
        else:
            backend = spi.open_store(parse_url(store), options)
        self._mounts.applications[prefix] = Application(backend, self._ring, settings=ServerSettings(**settings))

    def unmount(self, prefix: str) -> None:
        """End it as a server does that shuts down."""
        application = self._mounts.applications.pop(prefix)
        asyncio.run_coroutine_threadsafe(application.close(), self._loop).result(30)

    def perform(self, store: str, part: str, name: str, arguments: tuple[Any, ...]) -> Any:
        """Call a method of a memory store under test, or of its operations."""
        memory = self._memories.setdefault(store, MemoryUnderTest())
        target: Any = getattr(memory, part) if part else memory
        return getattr(target, name)(*arguments)

    def forget(self, store: str) -> None:
        """Let a memory store go."""
        memory = self._memories.pop(store, None)
        if memory is not None:
            memory.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        task = asyncio.ensure_future(self._server.serve())
        while not self._server.started:
            await asyncio.sleep(0.005)
        self._started.set()
        await task


def main() -> None:
    """Serve until the input ends."""
    serving = Serving(int(sys.argv[1]))
    _say(serving.start())
    for line in sys.stdin.buffer:
        name, *arguments = pickle.loads(base64.b64decode(line))
        try:
            _say(getattr(serving, name)(*arguments))
        except Exception as error:  # noqa: BLE001 - raised again on the other side
            _say(error)


def _say(answer: object) -> None:
    sys.stdout.buffer.write(base64.b64encode(pickle.dumps(answer)) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
