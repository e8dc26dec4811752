"""Connecting to a node that may hang: it costs its callers a bounded time, and the next ones hardly any."""

import time

from tailrace.backends.redis.location import Location
from tailrace.backends.redis.wire import Wire, dial
from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError

PATIENCE = 2.0
"""Seconds to connect to a node that answered when it was last heard of."""

SUSPICION = 0.5
"""Seconds to connect to one that did not."""

MULTIPLE, LONGEST = 8, 4.0
"""After a failure nobody tries again for so many times what it took, and for so many seconds at most."""


class Reach:
    """The way to one node. Thread-safe: what is lost in a race is one attempt.

    The kernel still accepts connections for a server that hangs, and for a host that is gone nobody does; both cost the
    whole time that one is ready to wait. So after a failure that took long nobody tries again for a multiple of it.
    """

    def __init__(self, location: Location) -> None:
        self._location = location
        self._suspect = False
        self._not_before = 0.0
        self._why = ""

    def dial(self, timeout: float) -> Wire:
        """Connect.

        Raises:
            StoreUnusableError: Not with these settings.
            DurableStreamUnavailableError: The server is away, or was a moment ago.
        """
        began = time.monotonic()
        if began < self._not_before:
            raise DurableStreamUnavailableError(f"{self._location.name} was away a moment ago [{self._why}]")
        try:
            wire = dial(self._location, min(timeout, SUSPICION if self._suspect else PATIENCE))
        except StoreUnusableError:
            # It is there, and does not want us: that costs nobody time, and has to be told as what it is.
            raise
        except DurableStreamUnavailableError as exc:
            now = time.monotonic()
            self._suspect, self._why = True, str(exc)
            self._not_before = now + min(LONGEST, MULTIPLE * (now - began))
            raise
        self._suspect = False
        return wire
