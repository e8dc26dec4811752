"""What all servers have in common: a folder, a port of the loopback, and a process that is started, frozen, killed."""

import shutil
import signal
import tempfile
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

from tailrace.testing.servers.accounts import Account
from tailrace.testing.servers.errors import ServerFailedError
from tailrace.testing.servers.ports import LOOPBACK, PortClaim
from tailrace.testing.servers.process import ServerProcess
from tailrace.testing.servers.started import Started
from tailrace.testing.servers.waiting import until

_OTHER_PORTS = 5
_STARTS_WITHIN = 30.0


class ServerNode(Started):
    """One server. A context manager that starts and removes it; not thread-safe.

    Args:
        kind: A word for the names of folders.
        offsets: Distances of further ports that have to be free.
        account: Whom it becomes; ``None`` for nobody else.

    Attributes:
        folder: Its own, with configuration, log and data; removed by ``close``.
    """

    def __init__(self, kind: str, *, offsets: Sequence[int] = (), account: Account | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=f"tailrace-{kind}-"))
        self._account = account
        self._offsets = offsets
        self._claim = PortClaim(offsets)
        self._process: ServerProcess | None = None
        self._started_once = False

    @property
    def port(self) -> int:
        """Where it listens; the same for life, once it has been started."""
        return self._claim.port

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        return LOOPBACK, self.port

    @property
    def alive(self) -> bool:
        """Whether its process runs; a frozen one does."""
        return self._process is not None and self._process.alive

    @property
    def pid(self) -> int:
        """Of the process that runs, or ran last."""
        return self._once_started.pid

    @property
    def log(self) -> Path:
        """What it has printed, over all its lives."""
        return self.folder / "server.log"

    def start(self, *options: str) -> None:
        """Start it, on the port and the data that it had before, and wait until it serves. Idempotent.

        Args:
            options: Of the command line, for this start only: ``--appendonly no`` is two of them.

        Raises:
            ServerFailedError: It ended instead, or took too long; the message has the end of its log.
        """
        if self.alive:
            return
        for _ in range(_OTHER_PORTS):
            printed = self.log.stat().st_size if self.log.exists() else 0
            self._process = ServerProcess(
                self._command(*options),
                folder=self.folder,
                log=self.log,
                environment=self._environment(),
                account=self._account,
            )
            until(self._serves_or_ended, f"{self!r} serves", timeout=_STARTS_WITHIN, step=0.004)
            if self.alive:
                self._started_once = True
                return
            # Others than us take ports too, between our look and the server's bind. Later it may not move.
            if self._started_once or b"ddress already in use" not in self.log.read_bytes()[printed:]:
                break
            self._claim.release()
            self._claim = PortClaim(self._offsets)
        ended = self._once_started
        raise ServerFailedError(f"{self!r} ended with status {ended.status}; {ended.log_end()}")

    def stop(self) -> None:
        """Ask it to end, as an operator does, and wait until it has. Its data stays. Idempotent."""
        if self._process is not None:
            self._process.terminate()

    def kill(self) -> None:
        """End it with SIGKILL. What it has written to files stays. Idempotent."""
        if self._process is not None:
            self._process.kill()

    def restart(self) -> None:
        """Stop and start."""
        self.stop()
        self.start()

    def freeze(self) -> None:
        """Let it hang, with its connections open, until ``thaw``: the kernel still accepts new ones for it."""
        self._once_started.signal(signal.SIGSTOP)
        # Its threads stop one after the other, and one of them may be answering.
        until(lambda: _stands_still(self.pid), "the server stands still")

    def thaw(self) -> None:
        """Let it go on."""
        self._once_started.signal(signal.SIGCONT)

    def close(self) -> None:
        """End it, remove its folder, give its port back. Idempotent."""
        self.kill()
        self._claim.release()
        shutil.rmtree(self.folder, ignore_errors=True)

    @abstractmethod
    def _command(self, *options: str) -> Sequence[str]:
        """Return what to run, after writing whatever it needs into the folder."""

    @abstractmethod
    def _serves(self) -> bool:
        """Whether it is of use now. That it is not there yet may be told by an ``OSError``."""

    def _environment(self) -> Mapping[str, str]:
        """Return variables to be set for it."""
        return {}

    @property
    def _once_started(self) -> ServerProcess:
        assert self._process is not None, "it was never started"
        return self._process

    def _serves_or_ended(self) -> bool:
        return not self.alive or self._serves()


def _stands_still(pid: int) -> bool:
    stats = [task.read_text() for task in Path("/proc").glob(f"{pid}/task/*/stat")]
    return all(stat.rpartition(") ")[2].startswith("T") for stat in stats)
