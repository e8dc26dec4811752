"""Looking at streams and their items. Nothing here changes anything, or needs the right to.

A look is not one instant. It is exact all the same: the row of a stream comes first, items up to what it says are never
changed, and they are only ever removed together, which is noticed.
"""

from collections.abc import Sequence
from dataclasses import replace

from tailrace.spi import Ask, Boundary
from tailrace.workflow import rules
from tailrace.workflow.errors import InvalidFieldsError, StreamNotFoundError
from tailrace.workflow.model import ItemPage, Run, Stream, StreamRef
from tailrace.workflow.store import rows, runs
from tailrace.workflow.store.rows import COLUMNS, StreamRow

PAGE_BYTES = 4 * 2**20
"""Bytes of documents in one page, beyond its first one."""

_LIST = f"SELECT {COLUMNS}, {{now}} FROM {{workflow_streams}} WHERE run = ? ORDER BY stream_name"
_TAG = "SELECT tag FROM {workflow_items} WHERE stream = ? AND position = ?"
_ITEMS = "SELECT document FROM {workflow_items} WHERE stream = ? AND position > ? AND position <= ? ORDER BY position"


def list_streams(ask: Ask, run: Run) -> Sequence[Stream]:
    """Return the streams of a run that have not expired, by name.

    Raises:
        RunNotFoundError: There is no such run.
    """
    found = map(StreamRow._make, ask(_LIST, runs.find(ask, run).id))
    return [rows.stream_of(row.stream_name, row.state) for row in found if row.found]


def describe(ask: Ask, stream: StreamRef) -> StreamRow:
    """Return a stream.

    Raises:
        RunNotFoundError, StreamNotFoundError: It is not there.
    """
    row = rows.find(ask, stream.topic)
    if row is None:
        runs.find(ask, stream.run)
    if row is None or not row.found:
        raise StreamNotFoundError(rules.NOT_FOUND)
    return row


def place_before(ask: Ask, stream: StreamRef, offset: int) -> Boundary:
    """Return the place behind which an item of that offset comes.

    Raises:
        RunNotFoundError, StreamNotFoundError: The stream is not there.
        InvalidFieldsError: It has not come so far: nobody knows yet which item it will be.
    """
    row = describe(ask, stream)
    if offset > row.last_position:
        raise InvalidFieldsError({"from": [f"must be at most {row.last_position}, where the next item will be"]})
    if offset in (0, row.last_position):
        return row.bounds.tail if offset else row.bounds.beginning
    tag = tag_at(ask, row, offset)
    if tag is None:
        raise StreamNotFoundError(rules.NOT_FOUND)
    return Boundary(row.incarnation, offset, tag)


def tag_at(ask: Ask, row: StreamRow, position: int) -> int | None:
    """Return the tag of the item at a position; ``None`` if it is not there."""
    found = ask(_TAG, row.id, position)
    return int(found[0][0]) if found else None


def page(ask: Ask, stream: StreamRef, from_offset: int, max_items: int) -> tuple[ItemPage, StreamRow]:
    """Return items from an offset on, and the row that they were read by.

    Raises:
        RunNotFoundError, StreamNotFoundError: It is not there.
    """
    row = describe(ask, stream)
    documents: Sequence[bytes] = ()
    if from_offset < row.last_position:
        most = max(1, min(max_items, PAGE_BYTES // max(row.largest, 1)))
        until = min(from_offset + most, row.last_position)
        documents = [document for (document,) in ask(_ITEMS, row.id, from_offset, until)]
        if len(documents) < until - from_offset:
            # Expired and reclaimed between the two statements.
            raise StreamNotFoundError(rules.NOT_FOUND)
    following = from_offset + len(documents)
    state = row.state
    if documents and following == row.last_position:
        state = replace(state, pending_items=0)
    found = ItemPage(rows.stream_of(row.stream_name, state), documents, following, rules.terminal(state, following))
    return found, row
