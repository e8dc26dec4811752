"""A server that says whatever a test wants, and a proxy that cuts at a byte: what stands between us and a real one."""

import contextlib
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from tailrace import spi, wire
from tailrace.testing.faults import FlakyProxy
from tailrace.testing.faults.proxy import Pair, Passed

CAPABILITIES = spi.Capabilities(store="scripted", durable=True, durability="None.", shared=True)
DESCRIBED = wire.description_to(wire.Description(wire.PROTOCOL, "0", CAPABILITIES, 2**20, 100))

Say = Callable[[bytes, bytes], bytes | None]


def answer(body: bytes, *, status: bytes = b"200 OK", kind: bytes = wire.ACCEPTED, more: bytes = b"") -> bytes:
    """Return a whole answer; ``more`` is further headers, each with its line end."""
    length = b"content-length: %d\r\n" % len(body)
    return b"HTTP/1.1 " + status + b"\r\ncontent-type: " + kind + b"\r\n" + length + more + b"\r\n" + body


class Scripted:
    """Listens on a free port of the loopback.

    Args:
        say: Returns what is sent for a path and a body; ``None``: nothing, until the client hangs up. Whatever is sent
            is the last on its connection if it says ``connection: close``.

    Attributes:
        asked: The paths that were asked for.
    """

    def __init__(self, say: Say) -> None:
        self._say = say
        self.asked: list[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for sock in self._open:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()
        for thread in self._threads:
            thread.join(10)

    def _start(self, run: Callable[[], None]) -> None:
        thread = threading.Thread(target=run, name="scripted", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(sock)
            self._start(lambda sock=sock: self._serve(sock))  # type: ignore[misc]

    def _serve(self, sock: socket.socket) -> None:
        with sock:
            try:
                while self._answered(sock):
                    pass
            except OSError:
                return

    def _answered(self, sock: socket.socket) -> bool:
        data = b""
        while b"\r\n\r\n" not in data:
            data += self._received(sock)
        head, _, body = data.partition(b"\r\n\r\n")
        length = [int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        while length and len(body) < length[0]:
            body += self._received(sock)
        path = head.split(b" ")[1]
        self.asked.append(path)
        said = DESCRIBED_ANSWER if path == wire.PATHS.describe else self._say(path, body)
        if said is None:
            sock.recv(1)
            return False
        sock.sendall(said)
        return b"connection: close" not in said

    def _received(self, sock: socket.socket) -> bytes:
        data = sock.recv(65536)
        if not data:
            raise ConnectionError("the client is gone")
        return data


DESCRIBED_ANSWER = answer(DESCRIBED)


class CuttingProxy(FlakyProxy):
    """Cuts a connection once so many bytes have passed in one direction. Counts anew from each ``cut_after``."""

    def __init__(self, target: tuple[str, int]) -> None:
        self._left: dict[str, int | None] = {"requests": None, "replies": None}
        self.happened = threading.Event()
        super().__init__(target)

    def cut_after(self, direction: str, count: int) -> None:
        """Let so many more bytes through, and cut then. Once."""
        self.happened.clear()
        with self._lock:
            self._left[direction] = count

    def _request(self, pair: Pair, data: bytes) -> Passed:
        return self._cut("requests", data)

    def _reply(self, pair: Pair, data: bytes) -> Passed:
        return self._cut("replies", data)

    def _cut(self, direction: str, data: bytes) -> Passed:
        with self._lock:
            left = self._left[direction]
            if left is None:
                return Passed(data)
            if len(data) < left:
                self._left[direction] = left - len(data)
                return Passed(data)
            self._left[direction] = None
        self.happened.set()
        return Passed(data[:left], cut=True)
