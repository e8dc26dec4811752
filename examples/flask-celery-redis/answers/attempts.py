"""Events of work that is done more than once, in a topic: nothing doubles, whoever dies and whoever comes too late.

A task queue delivers a task again when its worker dies, and sometimes while its worker lives. So an attempt first
appends a *claim*: from there on the topic is its own. What is in the topic before the claim is its checkpoint: the
attempt reads it and goes on after it. No lock is needed, and no lease that could run out under somebody who was merely
slow: the order of the topic, which is the same for all, decides whose events count.

    A claim counts once. Another record counts if its attempt is the one whose claim was the last before it, and its
    number is the next.

Everybody who reads keeps to that rule: `Log` here, and `static/run.js` in the browser. This file knows neither Celery
nor Flask.
"""

import json
import secrets
import time
from collections.abc import Callable
from typing import Any

import tailrace
from tailrace import CLOSED

_COMES_BACK_WITHIN = 5.0
_AGAIN_AFTER = 0.5


class Superseded(Exception):  # noqa: N818 - what happened, and no error
    """A later attempt has claimed the topic: stop. Nothing that this one appends would count."""


class Ended(Exception):  # noqa: N818 - as above
    """The work is done already: an earlier attempt has brought it to its end."""


class Log:
    """What a topic says, by the rule. Pure.

    Attributes:
        owner: The attempt that claimed last.
        events: Those that count, in order.
        end: ``None`` while the work goes on, then ``{"error": None}``, or why it failed.
    """

    def __init__(self) -> None:
        self.owner: str | None = None
        self.events: list[Any] = []
        self.end: dict[str, str | None] | None = None
        self._claimed: set[str] = set()

    @property
    def attempts(self) -> int:
        """How many there were."""
        return len(self._claimed)

    def apply(self, payload: bytes) -> None:
        """Take the topic's next record."""
        record = json.loads(payload)
        if "n" not in record:
            # One that was sent twice may arrive for the second time after somebody else's, who would stop for nobody.
            if record["attempt"] not in self._claimed:
                self._claimed.add(record["attempt"])
                self.owner = record["attempt"]
        elif record["attempt"] == self.owner and record["n"] == len(self.events) and self.end is None:
            if "end" in record:
                self.end = record["end"]
            else:
                self.events.append(record["event"])


class Attempt:
    """One attempt at the work whose events go into a topic. Of one thread; a context manager.

    Entering claims the topic and reads what is there. An outage of the store is waited for, as long as a subscription
    waits (``outage_budget``, 30 seconds). Nobody else may append to the topic.

    Raises:
        Ended: On entering, or later: there is nothing left to do.
        Superseded: From ``append`` and ``finish``: another attempt goes on.
        tailrace.DurableStreamError: The store was away for too long, or has lost records: begin another attempt.
    """

    def __init__(self, topic: tailrace.Topic) -> None:
        self._topic = topic
        self._name = secrets.token_hex(8)
        self._log = Log()
        self._subscription = topic.subscribe_from_beginning()

    @property
    def number(self) -> int:
        """Which attempt it is: 1 for the first."""
        return self._log.attempts

    @property
    def events(self) -> list[Any]:
        """What counts so far, of earlier attempts and of this one."""
        return self._log.events

    def __enter__(self) -> "Attempt":
        self._subscription.__enter__()
        try:
            self._until(lambda: self._log.owner == self._name, {})
            if self._log.end is not None:
                # Its attempt died between the last record and the seal.
                self._topic.seal(error=self._log.end["error"])
                raise Ended
        except BaseException:
            self._subscription.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._subscription.close()

    def append(self, event: object) -> None:
        """Append one event, any JSON value. When this returns the topic has it, and it counts, once."""
        n = len(self.events)
        self._until(lambda: len(self.events) > n, {"n": n, "event": event})

    def finish(self, error: str | None = None) -> None:
        """End the topic, as failed if there is an error.

        The seal alone would not do: it is final, and another attempt might have claimed the topic just before it. So a
        record says first that the work is over. If it counts, whoever claims later has nothing to add.
        """
        n = len(self.events)
        self._until(lambda: self._log.end is not None, {"n": n, "end": {"error": error}})
        self._topic.seal(error=error)

    def wait_for_end(self) -> None:
        """Block until the attempt that has taken over, or one after it, has sealed the topic."""
        while self._subscription.receive(timeout=_COMES_BACK_WITHIN) is not CLOSED:
            pass

    def _until(self, counts: Callable[[], bool], content: dict[str, Any]) -> None:
        """Append a record until the topic shows that it counts.

        Sending it again where the outcome is unknown does no harm: of two that are equal, the second does not count.
        """
        record = json.dumps({"attempt": self._name, **content}).encode()
        while not counts():
            wait = _COMES_BACK_WITHIN
            try:
                self._topic.append(record)
            except tailrace.TopicSealedError:
                raise Ended from None
            except tailrace.StoreUnusableError:
                raise
            except tailrace.DurableStreamUnavailableError:
                # It may be stored all the same, so look before sending it again. An outage that lasts ends the reading.
                time.sleep(_AGAIN_AFTER)
                wait = _AGAIN_AFTER
            # Its own record comes back: that is how an attempt learns whether another one has claimed in between.
            while not counts() and (got := self._subscription.receive(timeout=wait)) is not None:
                self._take(got)

    def _take(self, got: tailrace.DurableStreamRecord | tailrace.Closed) -> None:
        if isinstance(got, tailrace.Closed):
            raise Ended
        mine = self._log.owner == self._name
        self._log.apply(got.payload)
        if mine and self._log.owner != self._name:
            raise Superseded
