"""One subscription, without the waiting: enter, step, pull, close. Both colours of the API stand on it.

``step`` never blocks and never does I/O; it returns a record, the end, or what its caller must do before
asking again. The caller owns the waiting, so nothing here differs between threads and event loops.
"""

import enum
import math
import time
import warnings
from collections import deque
from typing import TYPE_CHECKING

from tailrace import native
from tailrace.engine.backoff import Outage
from tailrace.engine.chunk import Chunk
from tailrace.engine.feed import Feed, FeedState
from tailrace.errors import CursorUnavailableError, DurableStreamUnavailableError, StoreUnusableError
from tailrace.instrument import SubscriptionStarted
from tailrace.records import CLOSED, Closed, DurableStreamRecord, StreamEnd, TopicCursor
from tailrace.spi import Page, Place, PositionLost, ReadOutcome

if TYPE_CHECKING:
    from tailrace.engine.engine import Engine


class Step(enum.Enum):
    """What to do before the next ``step``."""

    WAIT = enum.auto()
    """Wait on the feed's waiter, at most ``pause()`` seconds."""
    PULL = enum.auto()
    """Call ``begin_pull``, or ``pull``, which blocks on the store."""


LOOK_SECONDS = 1.0
"""Seconds that a ``receive`` with a timeout of 0 takes for a page that it asks for. It wants what there is, and not to
wait for more: a store that answers at all is given the time to; one that hangs costs no more than this."""


class Reader:
    """One reader of one topic from a fixed start.

    Attributes:
        ready: Records that ``step`` may return without the lock. Only the consuming thread removes
            them, except ``close``, which clears them.
        last: The record returned last; the one who returns it sets this.
    """

    def __init__(self, engine: "Engine", topic: str, start: Place) -> None:
        self._engine = engine
        self._outage = Outage(engine.options.outage_budget)
        self._start = start
        self.feed = Feed(topic, start, engine.new_buffer())
        self._attempt: object = None
        self._entered = False
        self._pull: object = None
        self._ahead = False
        self._broken: BaseException | None = None
        self.ready: deque[DurableStreamRecord] = deque()
        self.last: DurableStreamRecord | None = None

    @property
    def cursor(self) -> TopicCursor:
        """Where to resume so that nothing returned so far is repeated and nothing else is skipped."""
        last = self.last
        return self._engine.codec(self.feed.topic).encode(self._start) if last is None else last.cursor

    @property
    def end(self) -> StreamEnd | None:
        """Why it ended, once it has."""
        return self.feed.ending if self.feed.state is FeedState.ENDED else None

    @property
    def local(self) -> bool:
        """Whether a pull waits for no network, so that a thread that wants the records may do it."""
        return self._engine.local

    @property
    def pulling(self) -> bool:
        """Whether a page is being read in a worker."""
        return self._pull is not None

    def enter(self, attempt: object) -> Step | None:
        """Start delivery with the first page from the boundary: return what to do before asking again, or ``None``.

        Never blocks. Whatever interrupts it, or the waiting in between, must be told to ``fail_to_enter``.

        Args:
            attempt: The same object until it has entered, and another one whenever somebody enters.

        Raises:
            CursorUnavailableError: The boundary no longer holds.
            DurableStreamUnavailableError: The store is away, or this is not a new subscription.
        """
        feed = self.feed
        with self._engine.lock:
            if self._attempt is not attempt:
                if feed.state is FeedState.ENDED:
                    raise DurableStreamUnavailableError("this subscription has ended: subscribe again from its cursor")
                if feed.state is not FeedState.NEW:
                    raise DurableStreamUnavailableError("this subscription was entered before: each only once")
                self._attempt = attempt
                # Registered in the same hold of the lock that makes it live: a close() finds both or neither.
                self._engine.admit(self)
                feed.state = FeedState.BEHIND
            if not self._entered and feed.state is not FeedState.ENDED:
                self._raise_if_broken()
                if feed.ending is None:
                    return Step.WAIT if self._pull is not None else Step.PULL
                if feed.ending.exception is not None:
                    raise feed.ending.exception
        if not self._entered:
            # Whether the place holds, nobody knows: it is not for us to say so.
            closed = "its client" if self._engine.closed else "it"
            raise DurableStreamUnavailableError(f"this subscription was not entered: {closed} was closed meanwhile")
        if self._engine.hooks:
            self._engine.hooks.emit(SubscriptionStarted(feed.topic))
        return None

    def fail_to_enter(self, attempt: object, exc: BaseException) -> None:
        """End this reader because an attempt to enter failed; does nothing if it was entered before that."""
        if self._attempt is not attempt:
            return
        with self._engine.lock:
            if self.feed.state is not FeedState.ENDED:
                self.feed.close()
                if isinstance(exc, CursorUnavailableError | DurableStreamUnavailableError):
                    self.feed.ending = StreamEnd("failed", str(exc), exc)
            dismissal = self._engine.dismiss(self)
        self._engine.farewell(self, dismissal)
        if not isinstance(exc, Exception):
            self._engine.rouse()

    def step(self) -> DurableStreamRecord | Closed | Step:
        """Return the next record, ``CLOSED``, or what to do first. Never blocks.

        Raises:
            CursorUnavailableError, DurableStreamUnavailableError: Once, when the subscription can not go on.
        """
        feed = self.feed
        with self._engine.lock:
            if not self.ready and feed.buffer.records:
                # Moved under the lock, so that a close() that comes now finds either nothing moved yet
                # or everything in ``ready``, and clears it.
                records = feed.take()
                if len(records) == 1:
                    return records[0]
                self.ready.extend(records)
            if self.ready:
                return self.ready.popleft()
            if feed.state is FeedState.NEW:
                raise DurableStreamUnavailableError(
                    "enter the subscription first: with topic.subscribe_...() as subscription"
                )
            if feed.state is FeedState.ENDED:
                return CLOSED
            if feed.ending is None:
                self._raise_if_broken()
                due = self._pull is None and self._outage.retry_at <= time.monotonic()
                return Step.PULL if due and feed.state is FeedState.BEHIND else Step.WAIT
            feed.state = FeedState.ENDED
            ending = feed.ending
            dismissal = self._engine.dismiss(self)
        self._engine.farewell(self, dismissal)
        if ending.exception is not None:
            raise ending.exception
        return CLOSED

    def pause(self) -> float:
        """Return how long a ``WAIT`` may last at most, in seconds."""
        retry_at = self._outage.retry_at
        return max(0.0, retry_at - time.monotonic()) if retry_at and not self.pulling else math.inf

    def read_ahead(self, *, at_once: bool = False) -> None:
        """Begin to read the next page while the one that was just taken is consumed. Never blocks.

        The store is at work at the same time as the consumer then. The buffer has just been emptied, so that no more is
        held than it and one page. Before the record is noted as returned, so that an interrupt in here repeats it.
        """
        behind = self.feed.state is FeedState.BEHIND and self.feed.ending is None
        if behind and not self.local and self._pull is None and not self._outage.retry_at:
            self._ahead = True
            self.begin_pull(at_once=at_once)

    def claim(self) -> bool:
        """Return whether a page is on its way that was asked for ahead; true once for each.

        Whoever asks now has asked for it, as it were, and may wait for it like for one that it began itself.
        """
        ahead, self._ahead = self._ahead, False
        return ahead and self.pulling

    def begin_pull(self, *, at_once: bool = False) -> None:
        """Read the next page in a worker. Never blocks; the feed's waiter fires at the end.

        One at a time: a store that is slow is asked once, however many calls of ``receive`` wait for that page, and one
        that hangs keeps none of them beyond its timeout, nor from ``close``.

        Args:
            at_once: Whether it does not wait for a turn: because it comes from somebody who brings a thread for each
                reader, so that there are never more pulls than that.
        """
        pull = object()
        try:
            with self._engine.lock:
                if self._pull is not None:
                    return
                self._pull = pull
            self._engine.pullers.start(lambda: self._pull_and_tell(pull), at_once=at_once)
        except BaseException:
            self._pulled(pull)
            raise

    def _pull_and_tell(self, pull: object) -> None:
        try:
            self.pull(pull)
        except BaseException as exc:  # noqa: BLE001 - it is raised where the records are waited for
            self._broken = exc
        self._pulled(pull)
        self.feed.waiter.fire()

    def _pulled(self, pull: object) -> None:
        with self._engine.lock:
            self._no_longer(pull)

    def _no_longer(self, pull: object) -> None:
        # In the hold of the lock that brings its page: whoever has taken all of that asks for the next one at once, and
        # not in vain. Not if its start was interrupted, and another one has begun since.
        if self._pull is pull:
            self._pull = None

    def _raise_if_broken(self) -> None:
        broken, self._broken = self._broken, None
        if broken is not None:
            raise broken

    def pull(self, pull: object = None) -> None:
        """Read the next page from the store. Blocks on it; never raises for a store that fails.

        Args:
            pull: What ``begin_pull`` has begun.
        """
        with self._engine.lock:
            if self.feed.state is not FeedState.BEHIND or self.feed.ending is not None:
                return
            if self.feed.buffer.records:
                # The read of a caller that was cancelled has ended meanwhile, and brought them.
                return
            place = self.feed.place
        outcome = self._engine.read(self.feed.topic, place)
        if isinstance(outcome, Page):
            self._accept(outcome, place, pull)
        elif self._engine.closed:
            # Not a failure of the store: the client is being closed, and this reader with it.
            self.close()
        else:
            self._failed(outcome, place, pull)

    def rewind(self) -> None:
        """Go on right after the record returned last, whatever was buffered or half done. Does no I/O."""
        feed, last = self.feed, self.last
        place = self._start if last is None else self._engine.codec(feed.topic).decode(last.cursor)
        with self._engine.lock:
            if feed.state not in (FeedState.BEHIND, FeedState.LIVE):
                return
            self._engine.part(feed)
            self.ready.clear()
            feed.rewind(place)
        self._engine.rouse()

    def close(self) -> None:
        """End this subscription. Idempotent, never raises, from any thread."""
        try:
            self._close()
        except BaseException:
            # KeyboardInterrupt, a soft time limit: whoever leaves a ``with`` block by it does not close again.
            self._close()
            self._engine.rouse()
            raise

    def describe(self) -> str:
        """Return what a person wants to see of it."""
        waiting = len(self.ready) + self.feed.buffer.records
        return f"Subscription of {self.feed.topic!r}: {self.feed.state.name.lower()}, {waiting} buffered"

    def orphan(self) -> None:
        """End this reader in a forked child, where it can not go on: it is its parent's. Without the lock."""
        if self.feed.state is FeedState.ENDED:
            return
        self.ready.clear()
        self.feed.buffer.clear()
        self.feed.state, self.feed.ending = FeedState.BEHIND, None
        self.feed.fail(
            DurableStreamUnavailableError(
                "this subscription was opened in another process: subscribe again from its cursor"
            )
        )
        if native.patched():
            # Its reader may be a greenlet that waits, and lives on in here.
            self.feed.waiter.fire()

    def __del__(self) -> None:
        feed = getattr(self, "feed", None)
        if feed is not None and feed.state in (FeedState.BEHIND, FeedState.LIVE):
            self._engine.abandon(feed)
            warnings.warn(f"unclosed subscription of topic {feed.topic!r}", ResourceWarning, source=self, stacklevel=2)

    def _close(self) -> None:
        with self._engine.lock:
            if self.feed.state is not FeedState.ENDED:
                self.feed.close()
            elif not self._engine.has_admitted(self):
                return
            self.ready.clear()
            dismissal = self._engine.dismiss(self)
        self._engine.farewell(self, dismissal)
        self.feed.waiter.fire()

    def _accept(self, page: Page, start: Place, pull: object = None) -> None:
        feed = self.feed
        chunk = Chunk.of(page, start, self._engine.codec(feed.topic))
        tell = False
        with self._engine.lock:
            self._no_longer(pull)
            self._outage.over()
            # Closed meanwhile; or a second pull overtook this one, after a cancelled caller asked again. It brought the
            # records, or the loss of them, which would not be one behind these.
            if feed.state is not FeedState.BEHIND or feed.place is not chunk.start or feed.ending is not None:
                return
            feed.accept(chunk)
            self._entered = True
            if not chunk.more and feed.ending is None:
                tell = self._engine.join(feed)
        if tell:
            self._engine.nudge()

    def _failed(self, outcome: ReadOutcome, start: Place, pull: object) -> None:
        with self._engine.lock:
            self._no_longer(pull)
            # As in _accept: a place that was left behind meanwhile may well be gone.
            if self.feed.state is not FeedState.BEHIND or self.feed.place is not start:
                return
            if isinstance(outcome, PositionLost):
                self.feed.fail(CursorUnavailableError(outcome.reason))
            elif not isinstance(outcome, Page):
                at_once = isinstance(outcome.error, StoreUnusableError) or not self._entered
                if at_once or not self._outage.failed(time.monotonic()):
                    self.feed.fail(outcome.error)
