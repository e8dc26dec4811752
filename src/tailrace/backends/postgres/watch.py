"""Being told of appends: over one connection that listens, or that asks, where listening is of no use.

Which of the two is found out each time a watch is opened: ``probing.py``.
"""

import contextlib
import time
from collections.abc import Collection, Iterator

from psycopg import Error
from typing_extensions import override

from tailrace.backends.postgres.channels import Channels
from tailrace.backends.postgres.line import Dial, Line
from tailrace.backends.postgres.listening import Listening
from tailrace.backends.postgres.polling import Polling
from tailrace.backends.postgres.probing import hears
from tailrace.backends.vigil import Vigil
from tailrace.errors import DurableStreamUnavailableError
from tailrace.spi import Changes


class PostgresWatch(Vigil):
    """One engine's view of what moved.

    Args:
        dial: Opens a connection; its own, and another one for a moment.
        channels: Where appends are talked about.
        topics: The table of topics, as it stands in a statement.
        name: Of the server, for messages.
        patience: Seconds that an answer may take.

    Raises:
        DurableStreamUnavailableError: The server is away; or what ``dial`` raises.
    """

    def __init__(self, dial: Dial, channels: Channels, topics: str, name: str, patience: float) -> None:
        super().__init__()
        self._name = name
        self._patience = patience
        try:
            self._line = Line(dial(time.monotonic() + patience), self._alarm, lambda: self._closed)
        except BaseException:
            self._close_pipe()
            raise
        self._way: Listening | Polling
        try:
            with self._entered() as deadline:
                if hears(self._line, dial, channels, deadline):
                    self._way = Listening(self._line, channels, name, patience)
                else:
                    self._way = Polling(self._line, topics, patience)
        except BaseException:
            self.close()
            raise

    @property
    def listens(self) -> bool:
        """Whether notifications arrive; if not, it asks."""
        return isinstance(self._way, Listening)

    @property
    @override
    def reliable(self) -> bool:
        return self._way.reliable

    @override
    def follow(self, added: Collection[str], dropped: Collection[str]) -> None:
        with self._entered() as deadline:
            self._way.follow(added, dropped, deadline)

    @override
    def wait(self, timeout: float) -> Changes:
        deadline = time.monotonic() + timeout
        with self._entered():
            interrupted = False
            while True:
                now = time.monotonic()
                self._way.tend(now)
                moved = self._way.take()
                if moved or interrupted or now >= deadline:
                    return Changes(moved)
                ready, interrupted = self._sleep(min(deadline, self._way.due) - now, self._line.fileno())
                if self._line.fileno() in ready:
                    self._way.hear()

    @contextlib.contextmanager
    def _entered(self) -> Iterator[float]:
        """Give the deadline of one question."""
        with self._inside():
            try:
                yield time.monotonic() + self._patience
            except TimeoutError as exc:
                raise DurableStreamUnavailableError(f"{self._name} did not answer in time") from exc
            except (Error, OSError) as exc:
                if self._closed:
                    raise DurableStreamUnavailableError("the watch is closed") from exc
                said = " ".join(str(exc).split())
                raise DurableStreamUnavailableError(f"the watch of {self._name} was lost [{said}]") from exc

    @override
    def _release(self) -> None:
        self._line.close()

    @override
    def _abandon(self) -> None:
        self._line.disown()
