"""Appending and sealing: entries of a topic go into as few messages as hold them. Lives on the loop's thread."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tailrace.backends.nats.committing import Committing, Draft, Unknown
from tailrace.backends.nats.frames import MOST_RECORDS, OVERHEAD, PER_RECORD, Kind, State, position
from tailrace.backends.nats.heads import Heads
from tailrace.backends.nats.ledger import Ledger
from tailrace.backends.nats.session import Session
from tailrace.backends.nats.stored import Head
from tailrace.errors import DurableStreamUnavailableError, TopicSealedError
from tailrace.spi import Appended, AppendOutcome, AppendRefused, AppendUnknown, Boundary, Entry, Seal
from tailrace.spi.identities import random_incarnation


class Part(NamedTuple):
    """Payloads of one entry that go into one message.

    Attributes:
        entry: Which one.
        last: Whether they are its last.
    """

    entry: int
    payloads: Sequence[bytes]
    last: bool


class Writing:
    """For one thread."""

    def __init__(self, session: Session, heads: Heads, committing: Committing, ledger: Ledger) -> None:
        self._session = session
        self._heads = heads
        self._committing = committing
        self._ledger = ledger

    async def append(self, entries: Sequence[Entry], deadline: float) -> list[AppendOutcome]:
        """Store entries; see ``Backend.append``."""
        outcomes: list[AppendOutcome | None] = [None] * len(entries)
        topics: dict[str, list[int]] = {}
        for at, entry in enumerate(entries):
            topics.setdefault(entry.topic, []).append(at)
        if len(topics) == 1:
            await self._append_to(entries[0].topic, [*range(len(entries))], entries, outcomes, deadline)
        else:
            await asyncio.gather(
                *(self._append_to(topic, some, entries, outcomes, deadline) for topic, some in topics.items())
            )
        assert None not in outcomes
        return outcomes  # type: ignore[return-value]

    async def _append_to(
        self,
        topic: str,
        some: Sequence[int],
        entries: Sequence[Entry],
        outcomes: list[AppendOutcome | None],
        deadline: float,
    ) -> None:
        begun: set[int] = set()
        try:
            room = (await self._session.link()).client.max_payload - OVERHEAD
            for parts in packed(some, entries, room):
                payloads = tuple(payload for part in parts for payload in part.payloads)
                head = await self._records(topic, payloads, deadline)
                assert head.state is not None
                index = -1
                for part in parts:
                    index += len(part.payloads)
                    begun.add(part.entry)
                    if part.last:
                        place = Boundary(head.state.incarnation, position(head.sequence, index), head.state.last[1])
                        outcomes[part.entry] = Appended(place)
        except Unknown as exc:
            for part in parts:
                outcomes[part.entry] = AppendUnknown(exc.error)
            self._refuse(some, outcomes, begun, exc.error)
        except DurableStreamUnavailableError as exc:
            self._refuse(some, outcomes, begun, exc)

    def _refuse(
        self,
        some: Sequence[int],
        outcomes: list[AppendOutcome | None],
        begun: set[int],
        error: DurableStreamUnavailableError,
    ) -> None:
        for at in some:
            if outcomes[at] is None:
                # Each its own: who raises one adds to it. What has begun is stored in part, and stays.
                copy = type(error)(str(error))
                outcomes[at] = AppendUnknown(copy) if at in begun else AppendRefused(copy)

    async def _records(self, topic: str, payloads: tuple[bytes, ...], deadline: float) -> Head:
        born: list[bool] = []

        def plan(head: Head) -> Draft:
            state = head.state
            born[:] = [state is None]
            if state is not None and state.seal is not None:
                raise TopicSealedError("the topic is sealed: nothing can be appended to it any more")
            return Draft(Kind.RECORDS, state or new_life(head, self._session.now), payloads)

        head = await self._committing.commit(topic, plan, deadline)
        if born[0]:
            assert head.state is not None
            await self._ledger.add(topic, head.state, head.sequence, deadline)
        return head

    async def seal(self, topic: str, error: str | None, deadline: float) -> None:
        """End a topic; see ``Backend.seal``. Raises ours, ``Unknown``, or what ``Session`` raises."""
        seal = Seal(error)
        head = await self._heads.look(topic, deadline)
        intended = head.state or new_life(head, self._session.now)
        if head.sequence and head.state is not None:
            if head.state.seal is not None:
                return
            # First of all: a seal that a reader has seen must not be forgotten, whatever the server removes.
            await self._ledger.note(topic, intended._replace(seal=seal), head.sequence, deadline)

        def plan(head: Head) -> Draft | None:
            state = head.state
            if state is None:
                state = intended if intended.grave == head.grave else new_life(head, self._session.now)
            if state.seal is None:
                return Draft(Kind.CONTROL, state._replace(seal=seal))
            # Where only the bucket knows of the seal, an append that is on its way would be stored behind it.
            return None if head.sequence else Draft(Kind.CONTROL, state)

        head = await self._committing.commit(topic, plan, deadline, fresh=True)
        if head.state is not None:
            await self._ledger.add(topic, head.state, head.sequence, deadline)


def new_life(head: Head, now: int) -> State:
    """Return the state of a topic that is about to be born."""
    return State(random_incarnation(), head.grave, touched=now)


def packed(some: Sequence[int], entries: Sequence[Entry], room: int) -> Iterator[list[Part]]:
    """Distribute entries to messages: as many as fit together, whole; one that fits in none is cut."""
    message: list[Part] = []
    size = count = 0
    for at in some:
        payloads = entries[at].payloads
        needed = sum(map(len, payloads)) + PER_RECORD * len(payloads)
        if message and (size + needed > room or count + len(payloads) > MOST_RECORDS):
            yield message
            message, size, count = [], 0, 0
        if needed > room or len(payloads) > MOST_RECORDS:
            *pieces, payloads = _cut(payloads, room)
            for piece in pieces:
                yield [Part(at, piece, last=False)]
            needed = sum(map(len, payloads)) + PER_RECORD * len(payloads)
        message.append(Part(at, payloads, last=True))
        size, count = size + needed, count + len(payloads)
    if message:
        yield message


def _cut(payloads: Sequence[bytes], room: int) -> list[Sequence[bytes]]:
    pieces: list[Sequence[bytes]] = []
    start = size = 0
    for at, payload in enumerate(payloads):
        needed = len(payload) + PER_RECORD
        if at > start and (size + needed > room or at - start >= MOST_RECORDS):
            pieces.append(payloads[start:at])
            start, size = at, 0
        size += needed
    pieces.append(payloads[start:])
    return pieces
