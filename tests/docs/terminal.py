"""A terminal of somebody who follows a page: a shell of its own, typed into, read, interrupted by Ctrl-C."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import psutil
from typing_extensions import override

from tailrace.testing.servers.started import Started


class Terminal(Started):
    """One shell. Everything that was started in it is gone after ``close``.

    Args:
        folder: Where it is opened.
        environment: All variables that it has.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._environment = dict(environment)
        self._changed = threading.Condition()
        self._commands = 0
        self.output = ""

    @override
    def start(self) -> None:
        self._shell = subprocess.Popen(
            ["bash", "--norc"],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._reading = threading.Thread(target=self._read, name="terminal", daemon=True)
        self._reading.start()

    def type(self, command: str) -> None:
        """Type a command, and do not wait for it."""
        assert self._shell.stdin is not None
        self._shell.stdin.write(f"{command}\n".encode())
        self._shell.stdin.flush()

    def done(self, command: str, timeout: float = 60.0) -> str:
        """Type a command, wait until it has ended well, and return what it has printed."""
        self._commands += 1
        begin = len(self.output)
        mark = f"--ended-{self._commands}-"
        # The mark is put together by the shell: the command itself may be shown as well.
        self.type(f"{command}\nprintf '\\n%s%s--\\n' '{mark}' $?")
        printed = self.until(f"{mark}0--\n", timeout, begin, unless=mark)
        return printed.partition(f"\n{mark}")[0]

    def until(self, text: str, timeout: float = 60.0, begin: int = 0, *, unless: str | None = None) -> str:
        """Wait until a text is printed; return what was from ``begin`` on. Fails early at a line with ``unless``."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while text not in self.output[begin:]:
                left = deadline - time.monotonic()
                assert left > 0, f"not within {timeout} s: {text!r} in\n{self.output[begin:]}"
                failed = unless is not None and any(
                    line.startswith(unless) for line in self.output[begin:].splitlines(keepends=True) if "\n" in line
                )
                assert not failed, f"it failed:\n{self.output[begin:]}"
                self._changed.wait(min(left, 1.0))
            return self.output[begin:]

    def interrupt(self, timeout: float = 30.0) -> None:
        """Press Ctrl-C, and wait until what was running has ended."""
        running = psutil.Process(self._shell.pid).children(recursive=True)
        for process in running:
            process.send_signal(signal.SIGINT)
        _, alive = psutil.wait_procs(running, timeout=timeout)
        assert not alive, f"{alive} did not end:\n{self.output}"

    @override
    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._shell.pid, signal.SIGKILL)
        self._shell.wait(30)
        self._reading.join(30)
        for pipe in (self._shell.stdin, self._shell.stdout):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()

    def _read(self) -> None:
        assert self._shell.stdout is not None
        while chunk := os.read(self._shell.stdout.fileno(), 65536):
            with self._changed:
                self.output += chunk.decode(errors="replace")
                self._changed.notify_all()
