"""From the channel to the stream and back, for a listener who goes on listening: every event once.

Producers append first and publish afterwards. So whatever is heard on the channel is in the stream by then, and whoever
has read the stream up to now knows every event that he can hear. For some seconds both are followed; after that,
nothing that was appended before they began can still be on its way to the channel.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable

from typing_extensions import override

from tailrace import broadcast
from tailrace.records import DurableStreamRecord, TopicCursor
from tailrace.rollout.ledger import Ledger
from tailrace.topic import Topic

TICK = 0.25
"""Seconds between two looks into the stream while nothing is heard: a producer may have died before it published."""

SLOW = 0.5
"""Seconds after which an answer of "nothing there" may mean that the store was too slow to say so."""


class Handover(ABC):
    """Both ways at once. Used by one thread.

    Args:
        live: The channel, entered.
        stream: Where records are read.
        place: After which they are.
        overlap: Seconds that both are followed.

    Attributes:
        ledger: What was read and is still to be heard.
    """

    def __init__(self, live: broadcast.Subscription, stream: Topic, place: TopicCursor, overlap: float) -> None:
        self.live = live
        self.place = place
        self.ledger = Ledger()
        self._stream = stream
        self._until = time.monotonic() + overlap
        self._tick = 0.0

    @property
    def due(self) -> bool:
        """Whether it may end."""
        return time.monotonic() >= self._until

    def step(self, timeout: float) -> list[bytes | DurableStreamRecord]:
        """Return the next events, in order; none if nothing comes for ``timeout`` seconds. Blocks."""
        messages = self._hear(min(timeout, TICK))
        if not messages and time.monotonic() < self._tick:
            return []
        return self._combine(messages)

    def end(self) -> list[bytes | DurableStreamRecord]:
        """Return what is left; the listener goes on at one of the two."""
        return self._combine(self._hear(0))

    @abstractmethod
    def _combine(self, messages: list[bytes]) -> list[bytes | DurableStreamRecord]:
        """Return the events that are new, from what was heard and what can be read."""

    def _hear(self, timeout: float) -> list[bytes]:
        found: list[bytes] = []
        while isinstance(message := self.live.receive(0 if found else timeout), bytes):
            found.append(message)
        return found

    def _read(self) -> list[DurableStreamRecord]:
        """Return what the store has by now. A subscription that is at the tail would tell what it was told so far."""
        self._tick = time.monotonic() + TICK
        found: list[DurableStreamRecord] = []
        with self._stream.subscribe_from_cursor(self.place) as subscription:
            while True:
                asked = time.monotonic()
                record = subscription.receive(0)
                if isinstance(record, DurableStreamRecord):
                    found.append(record)
                    self.ledger.note(record.payload)
                elif record is not None or time.monotonic() - asked < SLOW:
                    break
            self.place = subscription.cursor
        return found


class ToStream(Handover):
    """What was appended before the stream is followed comes over the channel; everything else comes from the stream.

    Args:
        barrier: Returns once all that was published before it is called has been heard.
    """

    def __init__(
        self,
        live: broadcast.Subscription,
        stream: Topic,
        place: TopicCursor,
        overlap: float,
        barrier: Callable[[], None],
    ) -> None:
        super().__init__(live, stream, place, overlap)
        self._barrier = barrier
        self._later: list[DurableStreamRecord] = []

    @override
    def end(self) -> list[bytes | DurableStreamRecord]:
        return [*super().end(), *self._later]

    @override
    def _combine(self, messages: list[bytes]) -> list[bytes | DurableStreamRecord]:
        # After the messages: each of them that is in the stream is in the ledger then.
        records = self._later + self._read()
        self._later = []
        if records:
            # What a producer published before it appended one of these goes before it.
            self._barrier()
            heard = self._hear(0)
            if heard:
                messages = messages + heard
                self._later = self._read()
        old = [message for message in messages if not self.ledger.settle(message)]
        return [*old, *records]


class ToChannel(Handover):
    """Until the end everything comes from the stream; the ledger then has what will be heard of it once more."""

    @override
    def _combine(self, messages: list[bytes]) -> list[bytes | DurableStreamRecord]:
        records = self._read()
        for message in messages:
            self.ledger.settle(message)
        return [*records]
