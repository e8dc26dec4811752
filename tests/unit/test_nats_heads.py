"""Where a topic stands on NATS, if its subject is empty: the bucket tells, and is not believed too soon."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from tailrace.backends.nats.frames import Kind, State, compose
from tailrace.backends.nats.heads import Heads
from tailrace.backends.nats.ledger import Entry
from tailrace.backends.nats.stored import NOTHING, Head, Stored
from tailrace.spi import Seal

BORN = Stored(5, 1, compose(Kind.RECORDS, 0, 9, "t", State(7), (b"x",)))
LIVE = Entry(name="t", incarnation=7, stream="then")


class Looks:
    """Answers look after look."""

    def __init__(self, *found: Stored | None) -> None:
        self._found = list(found)

    async def newest(self, topic: str, deadline: float) -> Stored | None:
        return self._found.pop(0)


class Bucket:
    """Has one entry, or none."""

    def __init__(self, entry: Entry | None) -> None:
        self._entry = entry

    async def find(self, topic: str, deadline: float) -> Entry | None:
        return self._entry


def look(entry: Entry | None, *found: Stored | None) -> Head:
    parts = (SimpleNamespace(era=1), SimpleNamespace(created="then"), Looks(*found), Bucket(entry))
    return asyncio.run(Heads(*cast("tuple[Any, Any, Any, Any]", parts)).look("t", 0.0))


def test_a_topic_that_is_born_between_the_two_looks_is_no_deleted_one() -> None:
    assert look(LIVE, None, BORN) == Head(5, BORN.state, 0)


def test_a_topic_without_messages_and_entry_is_none() -> None:
    assert look(None, None) == NOTHING


def test_one_whose_messages_somebody_removed_counts_as_deleted() -> None:
    assert look(LIVE, None, None) == Head(0, None, 7)


def test_a_seal_holds_although_every_message_is_gone() -> None:
    sealed = Entry(name="t", incarnation=7, last=(4096, 9), sealed=True, error="why", stream="then")
    head = look(sealed, None, None)
    assert head.state == State(7, last=(4096, 9), horizon=(4096, 9), seal=Seal("why"))


def test_a_seal_goes_with_its_stream() -> None:
    assert look(Entry(name="t", incarnation=7, sealed=True, stream="before"), None, None) == Head(0, None, 7)
