"""Starts the API and a worker, starts again whichever dies, and ends both on Ctrl-C. ``python -m chat``.

In service this is what systemd, Kubernetes or a supervisor does.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from chat.settings import Settings
from tailrace.tokens import KeyRing

PARTS = ("chat.api", "chat.worker")
PATIENCE = 10.0


def main() -> int:
    """Run until SIGTERM or Ctrl-C; return the exit status."""
    settings = Settings.from_environment()
    make_keys(settings.keys)
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: stopping.set())

    say(f"open http://{settings.host}:{settings.port}/ and press Ctrl-C to end")
    running: dict[str, subprocess.Popen[bytes]] = {}
    try:
        while not stopping.is_set():
            for part in PARTS:
                process = running.get(part)
                if process is None or process.poll() is not None:
                    if process is not None:
                        say(f"{part} has ended with status {process.returncode}: it is started again")
                    running[part] = subprocess.Popen([sys.executable, "-m", part])
            stopping.wait(0.5)
    finally:
        end(running)
    return 0


def end(running: dict[str, subprocess.Popen[bytes]]) -> None:
    """End all processes: by a word, and by force after a while."""
    for process in running.values():
        # After a Ctrl-C at a terminal they know already.
        process.terminate()
    deadline = time.monotonic() + PATIENCE
    for part, process in running.items():
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            say(f"{part} does not end: it is killed")
            process.kill()
            process.wait()


def make_keys(path: Path) -> None:
    """Make the keys of resume tokens, which nobody else may read, unless they are there."""
    with contextlib.suppress(FileExistsError):
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(KeyRing.new().text)


def say(line: str) -> None:
    """Tell whoever has started us."""
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
