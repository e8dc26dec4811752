"""How often a request is sent: again only where that can do no harm. Pure: failures and times go in."""

import random
from typing import Any

from tailrace.errors import DurableStreamError, DurableStreamUnavailableError, StoreUnusableError
from tailrace.workflow.remote.failures import Failed
from tailrace.workflow.remote.requests import GRACE, Request

MOST = 3

FIRST_PAUSE = 0.1
"""Seconds before the second attempt; twice as many before the third."""


class Attempts:
    """The attempts at one request.

    Args:
        timeout: Seconds that all of them may take, apart from what the server waits for items.
        now: When the first one begins.
    """

    def __init__(self, request: Request[Any], timeout: float, now: float) -> None:
        self._request = request
        self._end = now + timeout
        self._made = 0
        self._sent = False

    def deadline(self, now: float) -> float:
        """Return when the attempt that begins now must be answered."""
        wait = self._request.wait
        # One that waits anew has the whole time again: the wait before it was cut short, by a proxy perhaps.
        return self._end if wait is None else now + wait + GRACE

    def after(self, failed: Failed, now: float) -> float:
        """Return how many seconds to pause before the next attempt.

        Raises:
            DurableStreamError: There is none: what the caller is told.
        """
        self._made += 1
        self._sent |= failed.sent
        pause: float = FIRST_PAUSE * 2 ** (self._made - 1) * random.uniform(0.75, 1.25)
        repeatable = self._request.repeatable or not failed.sent
        in_time = self._request.wait is not None or now + pause < self._end
        if failed.again and repeatable and in_time and self._made < MOST:
            return pause
        raise self._told(failed.error)

    def _told(self, error: DurableStreamError) -> DurableStreamError:
        if not isinstance(error, DurableStreamUnavailableError):
            # Refused: what an earlier attempt had stored, this one would have found.
            return error
        kind = StoreUnusableError if isinstance(error, StoreUnusableError) else DurableStreamUnavailableError
        return kind(str(error), maybe_stored=self._sent and self._request.writes)
