"""What a handle has on its loop's thread, put together; and the way there and back for callers of any thread."""

import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from tailrace.backends.nats.committing import Committing, Unknown
from tailrace.backends.nats.errors import ApiError, Denied, LinkLost, NoResponder, explain
from tailrace.backends.nats.ground import Ground
from tailrace.backends.nats.heads import Heads
from tailrace.backends.nats.ledger import Ledger
from tailrace.backends.nats.location import Location
from tailrace.backends.nats.looking import Looking
from tailrace.backends.nats.loop import Loop
from tailrace.backends.nats.reading import Reading
from tailrace.backends.nats.session import Session
from tailrace.backends.nats.sweep import Sweeper
from tailrace.backends.nats.upkeep import Upkeep
from tailrace.backends.nats.writing import Writing
from tailrace.options import StoreOptions

T = TypeVar("T")

Work = Callable[[float], Coroutine[Any, Any, T]]
"""What is to be done until a deadline of ``time.monotonic``."""


class Core:
    """Its parts are for the loop's thread; ``run`` and ``close`` are for any.

    Attributes:
        patience: Seconds that anything but an append may take.
    """

    def __init__(self, location: Location, options: StoreOptions, patience: float) -> None:
        self.loop = Loop()
        self.options = options
        self.patience = patience
        self._location = location
        self._begin()

    def _begin(self) -> None:
        session = self.session = Session(self._location)
        ground = self.ground = Ground(session, self._location)
        looking = self.looking = Looking(session, ground)
        ledger = self.ledger = Ledger(session, ground)
        heads = self.heads = Heads(session, ground, looking, ledger)
        committing = self.committing = Committing(session, ground, looking, heads)
        self.reading = Reading(session, ground, looking, heads, self.options.tombstone_for)
        self.writing = Writing(session, heads, committing, ledger)
        upkeep = self.upkeep = Upkeep(session, ground, looking, ledger, heads, committing)
        self.sweeper = Sweeper(session, looking, upkeep, self.options)

    def run(self, work: Work[T], timeout: float | None = None) -> T:
        """Do something over there, and return or raise what it does. Blocks; raises nothing but ours."""
        seconds = self.patience if timeout is None else timeout
        deadline = time.monotonic() + seconds
        try:
            return self.loop.run(lambda: work(deadline), seconds)
        except Unknown as exc:
            raise exc.error from exc
        except (ApiError, NoResponder, LinkLost, Denied, TimeoutError) as exc:
            raise explain(exc, self.session.name) from exc

    def close(self) -> None:
        """Close the connection and end the thread. Idempotent, never raises."""
        self.loop.close(self.session.close)

    def forget(self) -> None:
        """In a child: leave all of it to the parent, and start anew."""
        # What is known about the store is as true here, and who asks for it before there is a connection is answered.
        ahead, ground = self.session.ahead, self.ground
        self.loop.forget()
        self._begin()
        self.session.ahead = ahead
        self.ground.inherit(ground)
