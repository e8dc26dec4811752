"""One subscription's place in a channel: its state, what waits for it, and what it waits on.

Both colours stand on it: nothing here waits, and whatever changes fires the waiter.
"""

import enum
import logging
import threading

from tailrace.broadcast.errors import BroadcastError, BroadcastOverflowError, BroadcastUnavailableError
from tailrace.broadcast.mailbox import Mailbox
from tailrace.broadcast.options import BroadcastOptions
from tailrace.broadcast.tally import Tally
from tailrace.engine import Waiter
from tailrace.records import CLOSED, Closed
from tailrace.spi import Mark

_log = logging.getLogger("tailrace.broadcast")


class State(enum.Enum):
    """Where a subscription is in its life."""

    NEW = "not entered"
    JOINING = "joining"
    LIVE = "listening"
    FAILED = "failed"
    OVER = "closed"


class Seat:
    """Thread-safe.

    Args:
        topic: What it listens to.
        start: Strictly after which it listens, where the carrier keeps messages.
        options: Its bounds.
        tally: The channel's counts.

    Attributes:
        waiter: Fired whenever ``take`` or ``confirmed`` may have a new answer.
    """

    __slots__ = ("_entered", "_error", "_last", "_lock", "_mailbox", "_state", "_tally", "start", "topic", "waiter")

    def __init__(self, topic: str, start: Mark | None, options: BroadcastOptions, tally: Tally) -> None:
        self.topic = topic
        self.start = start
        self.waiter = Waiter()
        self._lock = threading.Lock()
        self._mailbox = Mailbox(options.buffer_messages, options.buffer_bytes, options.overflow)
        self._tally = tally
        self._state = State.NEW
        self._entered = False
        self._last = start
        self._error: BroadcastError | None = None

    @property
    def dropped(self) -> int:
        """Messages known to have been dropped."""
        return self._mailbox.dropped

    @property
    def over(self) -> bool:
        """Whether it takes no more messages."""
        return self._state in (State.FAILED, State.OVER)

    def enter(self) -> None:
        """Note that it is entered.

        Raises:
            BroadcastUnavailableError: It was before, or it is closed.
        """
        with self._lock:
            if self._entered or self._state is State.OVER:
                raise BroadcastUnavailableError("a subscription can be entered once, and not after it was closed")
            self._entered = True

    def begin_to_join(self) -> bool:
        """Return whether it has to be let in by whoever calls: once."""
        with self._lock:
            if self._state is not State.NEW:
                return False
            self._state = State.JOINING
            return True

    def activate(self) -> None:
        """Note that the store has confirmed it."""
        with self._lock:
            if self._state is State.JOINING:
                self._state = State.LIVE
        self.waiter.fire()

    def confirmed(self) -> bool:
        """Return whether the store has confirmed it.

        Raises:
            BroadcastError: It never will; told once.
        """
        with self._lock:
            if isinstance(self._error, BroadcastOverflowError):
                # It listened, and what it had room for is still to be returned.
                return True
            if self._state is State.FAILED:
                raise self._told()
            if self._state is State.OVER:
                raise BroadcastUnavailableError("the subscription was closed while it was entered")
            return self._state is State.LIVE

    def put(self, payload: bytes, mark: Mark | None) -> bool:
        """Take a message; return whether there may be more."""
        with self._lock:
            if self.over:
                return False
            before = self._mailbox.dropped
            going_on = self._accept(payload, mark)
            dropped = self._mailbox.dropped - before
            if dropped:
                # Before the lock is let go of, and anybody can be told: whoever is looks at the counts next.
                self._tally.add("dropped", dropped)
            if not going_on:
                self._state = State.FAILED
                message = (
                    f"a subscription to {self.topic!r} was too slow: {self._mailbox.dropped} messages were dropped"
                )
                self._error = BroadcastOverflowError(message, self._mailbox.dropped)
        self.waiter.fire()
        if dropped and not before:
            _log.warning("a subscription to %r is too slow: messages are dropped from now on", self.topic)
        return going_on

    def take(self) -> bytes | Closed | None:
        """Return the next message, ``CLOSED`` after the end, or ``None`` while there is nothing.

        Raises:
            BroadcastError: Why it can not go on, after the last message before that; told once.
        """
        with self._lock:
            if self._state is State.OVER:
                return CLOSED
            if not self._entered:
                raise BroadcastUnavailableError("enter the subscription before receiving from it")
            payload = self._mailbox.take()
            if payload is None and self._state is State.FAILED:
                raise self._told()
            return payload

    def begin_to_receive(self) -> None:
        """Note that what was taken before has been returned."""
        with self._lock:
            self._mailbox.keep_taken()

    def interrupted(self) -> None:
        """Take back what was taken since then, for the next one who asks."""
        with self._lock:
            self._mailbox.put_back()

    def fail(self, error: BroadcastError) -> None:
        """End it with an error, after what waits."""
        with self._lock:
            if self.over:
                return
            self._state, self._error = State.FAILED, error
        self.waiter.fire()

    def close(self) -> None:
        """End it; what waits is forgotten."""
        with self._lock:
            self._state, self._error = State.OVER, None
            self._mailbox.clear()
        self.waiter.fire()

    def orphan(self) -> None:
        """End it in a child process: what is told on the connection is told to the parent."""
        # Of the old lock nobody knows who held it at the fork.
        self._lock = threading.Lock()
        self.fail(BroadcastUnavailableError("the subscription is the parent's, from before the fork: subscribe anew"))

    def _accept(self, payload: bytes, mark: Mark | None) -> bool:
        last = self._last
        if mark is not None and last is not None:
            if mark.place <= last.place:
                # Read again for somebody who began earlier.
                return True
            self._last = mark
            # A lower number: the topic has expired and begun anew, with number 1.
            missed = mark.number - 1 - (last.number if mark.number > last.number else 0)
            if missed and not self._mailbox.miss(missed):
                return False
        return self._mailbox.put(payload)

    def _told(self) -> BroadcastError:
        error, self._error, self._state = self._error, None, State.OVER
        assert error is not None
        return error

    def __repr__(self) -> str:
        return f"{self.topic!r} {self._state.value}, {len(self._mailbox)} waiting, {self.dropped} dropped"
