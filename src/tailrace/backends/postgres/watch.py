"""Being told of appends: over one connection that listens, or that asks, where listening is of no use.

Which of the two is found out each time a watch is opened: ``probing.py``.
"""

import time
from collections.abc import Collection

from typing_extensions import override

from tailrace.backends.postgres.channels import Channels
from tailrace.backends.postgres.line import Dial
from tailrace.backends.postgres.listening import Listening
from tailrace.backends.postgres.polling import Polling
from tailrace.backends.postgres.probing import hears
from tailrace.backends.postgres.vigil import Vigil
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
        super().__init__(dial, name, patience)
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
                arrived, interrupted = self._sleep(max(0.0, min(deadline, self._way.due) - now))
                if arrived:
                    self._way.hear()
