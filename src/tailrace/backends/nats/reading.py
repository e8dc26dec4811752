"""Reading: what follows a place, and whether it holds. Writes nothing. Lives on the loop's thread.

Messages are read first and where the topic stands second, unless the messages reached that far. A horizon, a seal and
the end of a life only ever move one way: what holds at the second look held at the first one.
"""

import asyncio
from collections.abc import Iterable, Sequence

from tailrace.backends.nats.errors import ApiError, Denied, LinkLost, NoResponder, explain
from tailrace.backends.nats.frames import sequence_of
from tailrace.backends.nats.ground import Ground
from tailrace.backends.nats.heads import Heads
from tailrace.backends.nats.looking import Looking, left
from tailrace.backends.nats.pages import page
from tailrace.backends.nats.session import PAUSE, Session
from tailrace.backends.nats.stored import Head, Stored, head_of
from tailrace.errors import DurableStreamUnavailableError
from tailrace.spi import (
    Boundary,
    Bounds,
    Page,
    PositionLost,
    ReadFailed,
    ReadOutcome,
    ReadRequest,
    Unborn,
    lost_birth,
)

ELECTION = 10.0
"""Seconds for which a leader that was deposed may still answer: so long a place beyond its tail may yet hold."""

HEARD = 3_000_000_000
"""Nanoseconds: followers wait for longer than that, since they heard of a leader, before they elect another one."""

CHUNK = 256
"""Topics that are read at once."""


class Reading:
    """For one thread."""

    def __init__(self, session: Session, ground: Ground, looking: Looking, heads: Heads, tombstone_for: float) -> None:
        self._session = session
        self._ground = ground
        self._looking = looking
        self._heads = heads
        self._tombstone_for = tombstone_for
        self._beyond: dict[str, float] = {}
        self._hinted: dict[str, int] = {}

    def hinted(self, topic: str, sequence: int) -> None:
        """Note that a message is stored: a replica that does not have it yet has not answered for the topic."""
        if self._ground.replicas > 1:
            self._hinted[topic] = sequence

    def forget(self, topics: Iterable[str] | None = None) -> None:
        """Drop what was noted, of topics that nobody follows any more, or of all."""
        for topic in tuple(self._hinted) if topics is None else topics:
            self._hinted.pop(topic, None)

    async def bounds(self, topic: str, deadline: float) -> Bounds | Unborn:
        """Return where a topic stands."""
        head = await self._heads.look(topic, deadline)
        if head.state is None:
            return Unborn(self._session.now, head.grave)
        bounds = head.state.bounds
        if not self._ground.limited or bounds.beginning == bounds.tail:
            return bounds
        # The server may have removed records by itself: then the first message that is left says what precedes it.
        first = await self._looking.next(topic, 0, deadline)
        if first is None or first.frame.state.incarnation != bounds.tail.incarnation:
            return bounds
        return bounds._replace(beginning=max(bounds.beginning, first.frame.state.tail))

    async def read(self, requests: Sequence[ReadRequest], deadline: float) -> list[ReadOutcome]:
        """Check each place and read after it."""
        if len(requests) == 1:
            return [await self._outcome(requests[0], deadline)]
        outcomes: list[ReadOutcome] = []
        for start in range(0, len(requests), CHUNK):
            some = requests[start : start + CHUNK]
            outcomes += await asyncio.gather(*(self._outcome(request, deadline) for request in some))
        return outcomes

    async def _outcome(self, request: ReadRequest, deadline: float) -> ReadOutcome:
        try:
            return await self._read(request, deadline)
        except (DurableStreamUnavailableError, ApiError, NoResponder, LinkLost, Denied, TimeoutError) as exc:
            return ReadFailed(explain(exc, self._session.name))

    async def _read(self, request: ReadRequest, deadline: float) -> ReadOutcome:
        after = request.after
        if isinstance(after, Unborn):
            head = await self._heads.look(request.topic, deadline)
            lost = lost_birth(after, head.grave, self._session.now, self._tombstone_for)
            if lost is not None or head.state is None:
                return lost or Page((), after)
            after = Boundary(head.state.incarnation, 0, 0)
        messages: list[Stored] = []
        start = sequence_of(after.position)
        while True:
            # Two more than records: the place's own message, and one that carries none.
            count = request.max_records - len(messages) + 2 if request.max_records else 1
            run = await self._looking.run(
                request.topic, start, max(2, count), request.max_bytes + self._session.max_payload, deadline
            )
            messages += run.messages
            whole = run.whole and (not messages or messages[-1].sequence >= self._least(request.topic))
            head = head_of(messages[-1]) if whole and messages else await self._heads.look(request.topic, deadline)
            outcome = page(request, after, messages, head)
            if self._is_beyond(request.topic, after, head) and not await self._leads(request.topic, deadline):
                return self._doubt()
            if outcome is not None:
                return outcome
            if whole and messages and messages[-1].sequence >= head.sequence:
                return PositionLost("records after this place were removed by somebody else")
            if run.messages:
                start = messages[-1].sequence + 1
            else:
                # A replica that has not heard of what the leader told.
                await asyncio.sleep(PAUSE)
            if left(deadline) <= 0:
                raise TimeoutError

    def _least(self, topic: str) -> int:
        """Return the sequence that whoever answers for a topic must have reached."""
        if self._ground.replicas == 1:
            return 0
        return max(self._hinted.get(topic, 0), self._heads.written(topic))

    def _is_beyond(self, topic: str, after: Boundary, head: Head) -> bool:
        if self._ground.replicas == 1 or head.sequence >= sequence_of(after.position):
            self._beyond.pop(topic, None)
            return False
        now = asyncio.get_running_loop().time()
        return now - self._beyond.setdefault(topic, now) < ELECTION

    async def _leads(self, topic: str, deadline: float) -> bool:
        """Whether who answers as leader has heard from a majority so lately that nobody can have been elected since."""
        info = await self._session.insist(f"STREAM.INFO.{self._ground.names.stream(topic)}", None, deadline)
        others = (info.get("cluster") or {}).get("replicas") or ()
        heard = sum(1 for each in others if not each.get("offline") and int(each.get("active", HEARD)) < HEARD)
        return 2 * (heard + 1) > self._ground.replicas

    def _doubt(self) -> ReadOutcome:
        return ReadFailed(
            DurableStreamUnavailableError(
                f"{self._session.name} knows less of this topic than it did: asked again after its election"
            )
        )
