"""Starts Redis, gunicorn and Celery, starts again whichever dies, and ends all on Ctrl-C. ``python -m answers``.

In service this is what systemd, Kubernetes or a supervisor does.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tailrace.testing.servers.errors import ServerMissingError
from tailrace.testing.servers.redis import flavour
from tailrace.tokens import KeyRing

PATIENCE = 10.0


@dataclass
class Part:
    """One program of the application.

    Attributes:
        ends_by: Signals that ask it to end, one after the other, each with some seconds of patience.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    ends_by: Sequence[signal.Signals] = (signal.SIGTERM,)
    process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        """Start it in a session of its own: a Ctrl-C at the terminal is for us, who end the parts in order."""
        self.process = subprocess.Popen(
            self.command, env={**os.environ, **self.environment}, start_new_session=True, stdin=subprocess.DEVNULL
        )
        say(f"{self.name} runs as process group {self.process.pid}")

    def watch(self) -> None:
        """Start it again if it has ended, with whatever it has left behind."""
        if self.process is None:
            self.start()
        elif self.process.poll() is not None:
            say(f"{self.name} has ended with status {self.process.returncode}: it is started again")
            self._kill_group(self.process.pid)
            self.start()

    def end(self) -> None:
        """Ask it to end, and kill what does not."""
        if self.process is None:
            return
        for number in self.ends_by:
            with contextlib.suppress(subprocess.TimeoutExpired):
                if self.process.poll() is None:
                    self.process.send_signal(number)
                self.process.wait(PATIENCE / len(self.ends_by))
        self._kill_group(self.process.pid)
        self.process.wait()

    @staticmethod
    def _kill_group(group: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)


def main() -> int:
    """Run until SIGTERM or Ctrl-C; return the exit status."""
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: stopping.set())
    data = Path(os.environ.get("ANSWERS_DATA", "data")).resolve()
    data.mkdir(parents=True, exist_ok=True)
    make_keys(data / "keys.txt")
    os.environ["TAILRACE_TOKEN_KEYS_FILE"] = str(data / "keys.txt")

    parts = []
    try:
        if not os.environ.get("REDIS_URL"):
            port = int(os.environ.get("ANSWERS_REDIS_PORT", "6399"))
            os.environ["REDIS_URL"] = f"redis://127.0.0.1:{port}/0"
            parts.append(redis(data, port))
            parts[0].start()
            wait_for(port, parts[0], stopping)
        parts += [web(), worker()]
        say(f"open http://127.0.0.1:{os.environ.get('ANSWERS_PORT', '8000')}/ and press Ctrl-C to end")
        while not stopping.is_set():
            for part in parts:
                part.watch()
            stopping.wait(0.5)
    finally:
        # Redis last: the others still want to write.
        for part in reversed(parts):
            part.end()
    return 0


def redis(data: Path, port: int) -> Part:
    """Return a server of our own: the first Redis or Valkey that is found on PATH, or in a package."""
    try:
        found = flavour()
    except ServerMissingError as error:
        raise SystemExit(f"Set REDIS_URL: {error}") from None
    settings = {
        "bind": "127.0.0.1",
        "port": str(port),
        "dir": str(data),
        # What was acknowledged survives the server's process. Celery's queues and the events alike.
        "appendonly": "yes",
        "save": "",
        # A server that is full must refuse to write, and not throw events away.
        "maxmemory-policy": "noeviction",
        "loglevel": "warning",
    }
    options = [word for name, value in settings.items() for word in (f"--{name}", value)]
    return Part("redis", [str(found.binary), *options], environment=found.environment)


def web() -> Part:
    """Return gunicorn. What it is told is in ``gunicorn.conf.py``."""
    return Part("gunicorn", [sys.executable, "-m", "gunicorn"])


def worker() -> Part:
    """Return Celery with two processes."""
    command = [sys.executable, "-m", "celery", "-A", "answers.tasks", "worker"]
    # Asked by SIGTERM, it ends when its tasks have; by SIGQUIT, it gives them back to the queue, and the next start
    # goes on with them.
    options = ["--pool", "prefork", "--concurrency", "2", "--loglevel", "info", "--without-mingle", "--without-gossip"]
    return Part("celery", [*command, *options], ends_by=(signal.SIGTERM, signal.SIGQUIT))


def make_keys(path: Path) -> None:
    """Make the keys of resume tokens, which nobody else may read, unless they are there."""
    with contextlib.suppress(FileExistsError):
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(KeyRing.new().text)


def wait_for(port: int, server: Part, stopping: threading.Event) -> None:
    """Wait until somebody listens."""
    deadline = time.monotonic() + 30
    while not stopping.wait(0.05):
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            if server.process is not None and server.process.poll() is None:
                return
        if time.monotonic() > deadline or (server.process is not None and server.process.poll() is not None):
            raise SystemExit(f"{server.name} does not start: see above")


def say(line: str) -> None:
    """Tell whoever has started us."""
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
