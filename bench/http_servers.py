"""The two HTTP servers that are compared, each in a process of its own, behind one small description."""

import contextlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PEERS = Path(__file__).parent / "peers"
PACKAGE = "@durable-streams/server@0.3.7"


@dataclass(frozen=True)
class Served:
    """A topic that a server has.

    Attributes:
        port: On loopback.
        append: Path to post a record to.
        events: Path that streams what comes from now on.
        pid: Of the server.
    """

    port: int
    append: str
    events: str
    pid: int


@contextlib.contextmanager
def ours(store: str = "file") -> Iterator[Served]:
    """Serve a SQLite file, which syncs every commit, or memory."""
    with tempfile.TemporaryDirectory() as folder:
        url = "memory://" if store == "memory" else f"sqlite:///{folder}/events.db"
        port = free_port()
        command = [sys.executable, "-m", "tailrace.cli", "serve", "--store", url, "--port", str(port)]
        with _running(command, port) as pid:
            yield Served(port, "/v1/topics/bench/records", "/v1/topics/bench/events?start=tail", pid)


@contextlib.contextmanager
def node(kept: str = "file") -> Iterator[Served]:
    """Serve one stream with the Node reference server, file-backed or in memory."""
    modules = installed()
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        script = modules / "durable_streams.mjs"
        shutil.copyfile(PEERS / "durable_streams.mjs", script)
        with _running(["node", str(script), str(port), *([folder] if kept == "file" else [])], port) as pid:
            request(port, b"PUT /bench HTTP/1.1\r\nhost: x\r\ncontent-type: text/plain\r\ncontent-length: 0\r\n\r\n")
            yield Served(port, "/bench", "/bench?offset=now&live=sse", pid)


def installed() -> Path:
    """Return the folder that the peer is installed in, installing it at first."""
    folder = Path(sys.prefix) / "bench-peers"
    if not (folder / "node_modules" / "@durable-streams").is_dir():
        folder.mkdir(exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--prefix", str(folder), PACKAGE], check=True)
    return folder


def free_port() -> int:
    """Return a port that nobody listens on just now, below those that the kernel hands out."""
    for port in range(21000, 32768):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("no port is free")


def request(port: int, message: bytes) -> bytes:
    """Send one request and return the first part of its answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(message)
        return connection.recv(65536)


@contextlib.contextmanager
def _running(command: list[str], port: int) -> Iterator[int]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            time.sleep(0.05)
        yield process.pid
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
