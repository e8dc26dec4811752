"""An example as somebody runs it: started by its own command, its processes found, killed, and ended by Ctrl-C.

An example is a tree of processes: the command, and what it starts. Which one is which is told by words of its command
line (``"chat.worker"``, ``"celery"``).
"""

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import httpx
import psutil
from typing_extensions import override

from tailrace.testing.servers.started import Started
from tailrace.testing.servers.waiting import until

EXAMPLES = Path(__file__).parents[2] / "examples"

_OURS = ("TAILRACE_", "VIRTUAL_ENV", "PYTHON", "COV_", "PYTEST_")


def plain_environment() -> dict[str, str]:
    """Return the variables of this process but for those that a reader's shell would not have."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}


class Example(Started):
    """One example. Started once its ``ready`` address answers 200; everything of it is gone after ``close``.

    Args:
        command: As its README says.
        folder: Where the command is typed.
        ready: An address that answers 200 once the page can be opened.
        environment: Variables besides those of a plain shell.
        patience: Seconds until it is ready.

    Attributes:
        environment: All variables that it was started with.
    """

    def __init__(
        self,
        command: Sequence[str],
        folder: Path,
        *,
        ready: str,
        environment: Mapping[str, str] | None = None,
        patience: float = 60.0,
    ) -> None:
        self._command = command
        self._folder = folder
        self._ready = ready
        self.environment = {**plain_environment(), **(environment or {})}
        self._patience = patience
        self._process: subprocess.Popen[bytes] | None = None
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed with this

    @override
    def start(self) -> None:
        # In a group of its own: a Ctrl-C at a terminal goes to all processes of the group, and so does ours.
        self._process = subprocess.Popen(
            self._command,
            cwd=self._folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.until_ready()

    def until_ready(self) -> None:
        """Block until the page can be opened."""
        with httpx.Client(timeout=5, trust_env=False) as client:

            def answers() -> bool:
                assert self._running.poll() is None, f"it ended:\n{self.output()}"
                with contextlib.suppress(httpx.TransportError):
                    return client.get(self._ready).status_code == 200
                return False

            until(answers, f"{self._ready} answers\n{self.output()}", timeout=self._patience, step=0.05)

    def processes(self, *words: str) -> list[psutil.Process]:
        """Return the processes of the example whose command line has all these words, oldest first."""
        found = []
        for process in self._tree():
            with contextlib.suppress(psutil.NoSuchProcess):
                line = " ".join(process.cmdline())
                if process.status() != psutil.STATUS_ZOMBIE and all(word in line for word in words):
                    found.append(process)
        return sorted(found, key=lambda process: process.create_time())

    def kill(self, *words: str, how: signal.Signals = signal.SIGKILL, again: bool = True) -> None:
        """End all processes with these words at once, by ``kill -9`` unless said otherwise.

        Args:
            again: Whether to wait until whoever watches over them has started others.
        """
        before = self.processes(*words)
        assert before, f"no process has {words} in its command:\n{self.output()}"
        for process in before:
            process.send_signal(how)
        _, alive = psutil.wait_procs(before, timeout=30)
        assert not alive, f"{alive} did not end:\n{self.output()}"
        if again:
            until(lambda: bool(self.processes(*words)), f"{words} is started again", step=0.05)

    def interrupt(self, patience: float = 30.0) -> int:
        """Press Ctrl-C: wait until everything has ended, and return the status of the command."""
        tree = self._tree()
        os.killpg(self._running.pid, signal.SIGINT)
        status = self._running.wait(patience)
        _, alive = psutil.wait_procs(tree, timeout=patience)
        assert not alive, f"{alive} outlived the command:\n{self.output()}"
        return status

    def output(self) -> str:
        """Return what it has printed."""
        size = self._output.seek(0, os.SEEK_END)
        return os.pread(self._output.fileno(), size, 0).decode(errors="replace")

    @override
    def close(self) -> None:
        if self._process is not None:
            tree = self._tree()
            # Those that lost their parent are in the group still.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            for process in tree:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
            psutil.wait_procs(tree, timeout=30)
            self._process.wait(30)
            self._process = None
        self._output.close()

    @property
    def _running(self) -> "subprocess.Popen[bytes]":
        assert self._process is not None
        return self._process

    def _tree(self) -> list[psutil.Process]:
        try:
            top = psutil.Process(self._running.pid)
            return [top, *top.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []
