"""The blocking subscription: a listener whose ways block in the calling thread."""

from typing import Self

from typing_extensions import override

from tailrace import broadcast
from tailrace.errors import DurableStreamError
from tailrace.records import Closed
from tailrace.rollout.immediate import finish
from tailrace.rollout.views import Following


class Subscription(Following, broadcast.Subscription):
    """One independent listener. One-shot; only ``close`` may be called from other threads."""

    @override
    def __enter__(self) -> Self:
        finish(self._listener.enter())
        return self

    @override
    def receive(self, timeout: float = 0.1) -> bytes | Closed | None:
        self._listener.stand()
        try:
            return finish(self._listener.receive(timeout))
        except (broadcast.BroadcastError, DurableStreamError):
            raise
        except BaseException:
            # KeyboardInterrupt, a soft time limit: it may have come between taking an event and returning it.
            self._listener.rewind()
            raise

    @override
    def close(self) -> None:
        self._listener.close()
