"""The process of one server: started, signalled, waited for. It never outlives the process that started it."""

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from signal import Signals

from tailrace.testing.servers import launcher
from tailrace.testing.servers.accounts import Account
from tailrace.testing.servers.errors import ServerFailedError

_PATIENCE = 30.0


class ServerProcess:
    """A running command, its output in a file. Thread-safe.

    Args:
        command: What to run, its first word an absolute path.
        folder: The working directory.
        log: Where its output is appended.
        environment: Variables to be set besides ours.
        account: Whom it becomes before it is started; ``None`` for nobody else.

    Attributes:
        pid: Of the server itself.

    Raises:
        OSError: No process could be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        folder: Path,
        log: Path,
        environment: Mapping[str, str] | None = None,
        account: Account | None = None,
    ) -> None:
        self._name = Path(command[0]).name
        become = "-" if account is None else f"{account.uid}:{account.gid}"
        self._command = [sys.executable, "-I", "-S", launcher.__file__, str(os.getpid()), become, *command]
        self._folder = folder
        self._log = log
        self._environment = {**os.environ, **(environment or {})}
        self._spawned = threading.Event()
        self._popen: subprocess.Popen[bytes] | None = None
        self._refused: OSError | None = None
        # The kernel kills the server when the thread that made it ends, not the process: so the thread is one of
        # our own, which stays until the server has ended, and not the caller's, which may end before.
        self._thread = threading.Thread(target=self._attend, name="server-process", daemon=True)
        self._thread.start()
        self._spawned.wait()
        if self._refused is not None:
            raise self._refused

    @property
    def pid(self) -> int:
        return self._running.pid

    @property
    def alive(self) -> bool:
        """Whether it has not ended yet."""
        return self._thread.is_alive()

    @property
    def status(self) -> int | None:
        """Its exit status, the negative number of the signal that ended it, or ``None`` while it is alive."""
        return None if self.alive else self._running.returncode

    def signal(self, number: Signals) -> None:
        """Send a signal; nothing happens if it has ended."""
        if self.alive:
            self._running.send_signal(number)

    def kill(self) -> None:
        """End it at once, and wait until it has. Idempotent."""
        self.signal(Signals.SIGKILL)
        self._thread.join()

    def terminate(self, patience: float = _PATIENCE, how: Signals = Signals.SIGTERM) -> None:
        """Ask it to end, by the signal that it takes for that, and wait until it has. Idempotent.

        Raises:
            ServerFailedError: It had to be killed after ``patience`` seconds.
        """
        # One that was stopped could not hear.
        self.signal(Signals.SIGCONT)
        self.signal(how)
        if not self.wait(patience):
            self.kill()
            raise ServerFailedError(f"{self._name} did not end within {patience} s; {self.log_end()}")

    def wait(self, timeout: float) -> bool:
        """Wait until it has ended; return whether it has."""
        self._thread.join(timeout)
        return not self.alive

    def log_end(self, characters: int = 2000) -> str:
        """Return the end of its output, for messages."""
        with contextlib.suppress(OSError):
            text = self._log.read_text(encoding="utf-8", errors="replace")
            return f"its log ends with:\n{text[-characters:]}"
        return "it has no log"

    @property
    def _running(self) -> subprocess.Popen[bytes]:
        assert self._popen is not None
        return self._popen

    def _attend(self) -> None:
        try:
            with self._log.open("ab") as output:
                self._popen = subprocess.Popen(
                    self._command,
                    cwd=self._folder,
                    env=self._environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    # A Ctrl-C at the terminal is for the tests, which may still need the server to clean up.
                    start_new_session=True,
                )
        except OSError as refused:
            self._refused = refused
        finally:
            self._spawned.set()
        if self._popen is not None:
            self._popen.wait()
