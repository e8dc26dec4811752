"""A TCP proxy that breaks connections on demand, for adapters that speak to a server.

with FlakyProxy(("127.0.0.1", 6379)) as proxy:
    connect(f"redis://127.0.0.1:{proxy.port}")
    proxy.drop_reply(lambda sent: b"XADD" in sent)
"""

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

_CHUNK = 65536


class FlakyProxy:
    """Listens on a free port of the loopback and forwards to ``target``. Thread-safe.

    Attributes:
        port: Where it listens.
        delay: Seconds that every chunk is held, in both directions.
    """

    def __init__(self, target: tuple[str, int]) -> None:
        self.delay = 0.0
        self._target = target
        self._lock = threading.Lock()
        self._pairs: set[Pair] = set()
        self._threads: list[threading.Thread] = []
        self._refusing = False
        # Set while chunks may pass: requests and replies each have one.
        self._flowing = {True: threading.Event(), False: threading.Event()}
        self.flow()
        self._drop_after: Callable[[bytes], bool] | None = None
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._start(self._accept)

    def drop_reply(self, after: Callable[[bytes], bool] = bool) -> None:
        """Forward the next chunk that ``after`` picks, drop the reply to it, and cut that connection. Once."""
        with self._lock:
            self._drop_after = after

    def cut(self) -> int:
        """Reset every open connection; return how many there were."""
        with self._lock:
            pairs = list(self._pairs)
        for pair in pairs:
            pair.cut()
        return len(pairs)

    def refuse(self) -> None:
        """Reset every connection, and each new one as it comes, until ``accept``."""
        with self._lock:
            self._refusing = True
        self.cut()

    def stall(self, *, requests: bool = True, replies: bool = True) -> None:
        """Hold what is sent in one direction or both, with connections open, until ``flow``."""
        for direction, stalled in ((True, requests), (False, replies)):
            if stalled:
                self._flowing[direction].clear()

    def flow(self) -> None:
        """Let pass what was held, and what comes."""
        for flowing in self._flowing.values():
            flowing.set()

    def accept(self) -> None:
        """Forward again after ``refuse``."""
        with self._lock:
            self._refusing = False

    def lead(self, target: tuple[str, int]) -> None:
        """Forward to another server from now on, and reset the connections to the former one."""
        with self._lock:
            self._target = target
        self.cut()

    def close(self) -> None:
        """Stop, and wait until every thread has ended."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._threads[0].join()
        self.cut()
        self.flow()
        for thread in self._threads:
            thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _start(self, run: Callable[[], None]) -> None:
        thread = threading.Thread(target=run, name="flaky-proxy", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                refusing, target = self._refusing, self._target
            try:
                server = None if refusing else socket.create_connection(target, timeout=5)
            except OSError:
                server = None
            if server is None:
                _reset(client)
                continue
            server.settimeout(None)
            for side in (client, server):
                # What was not held back by its sender is not held back here.
                with contextlib.suppress(OSError):
                    side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._serve(Pair(client, server))

    def _serve(self, pair: "Pair") -> None:
        with self._lock:
            self._pairs.add(pair)
            # refuse() may have cut everything between the look at _refusing and now.
            refusing = self._refusing
        if refusing:
            pair.cut()
        self._start(lambda: self._forward(pair, pair.client, pair.server, requests=True))
        self._start(lambda: self._forward(pair, pair.server, pair.client, requests=False))

    def _forward(self, pair: "Pair", source: socket.socket, target: socket.socket, *, requests: bool) -> None:
        through = self._request if requests else self._reply
        with contextlib.suppress(OSError):
            while data := source.recv(_CHUNK):
                if self.delay:
                    time.sleep(self.delay)
                self._flowing[requests].wait()
                passed = through(pair, data)
                target.sendall(passed.data)
                if passed.cut:
                    break
        pair.cut()
        with self._lock:
            self._pairs.discard(pair)

    def _request(self, pair: "Pair", data: bytes) -> "Passed":
        # Before the request is forwarded: its reply can not overtake the mark.
        with self._lock:
            if self._drop_after is not None and self._drop_after(data):
                self._drop_after = None
                pair.dropping = True
        return Passed(data)

    def _reply(self, pair: "Pair", data: bytes) -> "Passed":
        return Passed(b"", cut=True) if pair.dropping else Passed(data)


@dataclass(frozen=True)
class Passed:
    """What becomes of a chunk: what is forwarded of it, and whether the connection ends then."""

    data: bytes
    cut: bool = False


class Pair:
    """One connection through the proxy."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client = client
        self.server = server
        self.dropping = False

    def cut(self) -> None:
        """Reset both sides. Idempotent."""
        for side in (self.client, self.server):
            _reset(side)


def _reset(side: socket.socket) -> None:
    # shutdown wakes the thread that is in recv; close alone would leave it there. A zero linger
    # makes the close a reset, which a peer can not mistake for an orderly end.
    with contextlib.suppress(OSError):
        side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    with contextlib.suppress(OSError):
        side.shutdown(socket.SHUT_RDWR)
    side.close()
