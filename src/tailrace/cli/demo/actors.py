"""The processes of a demo: started in sessions of their own, and always gone when the demo is."""

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator

from tailrace.cli.demo.stage import Stage


class Actor:
    """One role, which may be started again after it was killed."""

    def __init__(self, role: str, stage: Stage, *arguments: str) -> None:
        self.role = role
        self._stage = stage
        self._command = [sys.executable, "-P", "-m", f"tailrace.cli.demo.{role}", str(stage.directory), *arguments]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the role. In its own session: a Ctrl-C at the terminal is for the referee alone."""
        # A signal between the fork and the assignment would leave a process that nobody knows.
        with self._stage.words_of(self.role).open("ab") as words, _signals_later():
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=words, stderr=words, start_new_session=True
            )

    @property
    def pid(self) -> int:
        """The process id of the current life, 0 before the first."""
        return self._process.pid if self._process is not None else 0

    @property
    def status(self) -> int | None:
        """The exit status, ``None`` while it runs."""
        return self._process.poll() if self._process is not None else None

    def kill(self) -> None:
        """Send SIGKILL and wait until it is gone. Harmless when it already is."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def last_words(self) -> str:
        """Return the last line that it wrote, to say why it failed."""
        lines = self._stage.words_of(self.role).read_text(encoding="utf-8", errors="replace").split("\n")
        return next((line for line in reversed(lines) if line.strip()), "it said nothing")


@contextlib.contextmanager
def _signals_later() -> Iterator[None]:
    arrived: list[int] = []
    before = {
        number: signal.signal(number, lambda number, _frame: arrived.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for watched, handler in before.items():
            signal.signal(watched, handler)
        for number in arrived:
            signal.raise_signal(number)
