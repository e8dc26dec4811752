"""Appends over HTTP: what is certain about each entry when the answer does not come, or is not one."""

import time
from collections.abc import Iterator, Sequence

from tailrace import wire
from tailrace.backends.http.calls import Calls, whole
from tailrace.backends.http.line import BrokenLineError
from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError
from tailrace.spi import AppendOutcome, AppendRefused, AppendUnknown, Entry
from tailrace.wire import MalformedError

SHARE = 0.9
"""Of the time, what the server is given: it says what it could not store in time, before nobody listens any more."""

HEAD_BYTES = 64
"""About what the description of an entry takes beside its topic and its payloads' lengths."""

ANSWER_BYTES = 4096
"""Bytes that the outcome of one entry may take."""


def append(
    calls: Calls, entries: Sequence[Entry], timeout: float, max_body: int, max_topics: int
) -> Sequence[AppendOutcome]:
    """Store entries, with one request as a rule; several only if the server does not take that much in one."""
    deadline = time.monotonic() + timeout
    outcomes: list[AppendOutcome] = []
    for batch in _batches(entries, max_body, max_topics):
        if len(batch) == 1 and _size(batch[0]) > max_body:
            said = f"{calls.name} takes {max_body} bytes in one request: append fewer records at once"
            outcomes.append(AppendRefused(StoreUnusableError(said)))
        else:
            outcomes += _send(calls, batch, deadline)
    return outcomes


def _send(calls: Calls, batch: Sequence[Entry], deadline: float) -> Sequence[AppendOutcome]:
    left = deadline - time.monotonic()
    if left <= 0:
        return _all(batch, DurableStreamUnavailableError("its turn did not come in time"), sent=False)
    body = wire.pack_append(batch, max(0.001, left * SHARE))
    try:
        answer = calls.once(wire.PATHS.append, body, whole(ANSWER_BYTES * len(batch)), deadline)
        return wire.outcomes_from(answer, len(batch))
    except BrokenLineError as exc:
        return _all(batch, calls.explained(exc), sent=exc.sent)
    except MalformedError as exc:
        return _all(batch, calls.explained(exc), sent=True)
    except DurableStreamUnavailableError as exc:
        return _all(batch, exc, sent=exc.maybe_stored)


def _all(batch: Sequence[Entry], error: DurableStreamUnavailableError, *, sent: bool) -> Sequence[AppendOutcome]:
    outcome = AppendUnknown(error) if sent else AppendRefused(error)
    return [outcome] * len(batch)


def _batches(entries: Sequence[Entry], max_body: int, max_topics: int) -> Iterator[list[Entry]]:
    batch: list[Entry] = []
    size = 0
    for entry in entries:
        more = _size(entry)
        if batch and (size + more > max_body or len(batch) == max_topics):
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += more
    if batch:
        yield batch


def _size(entry: Entry) -> int:
    # In JSON a character of a name takes six bytes at most, and a length nine.
    return HEAD_BYTES + 6 * len(entry.topic) + sum(map(len, entry.payloads)) + 9 * len(entry.payloads)
