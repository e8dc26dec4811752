"""What operations do to one topic: cutting it, and ending its life. Lives on the loop's thread.

A horizon moves in a message of its own before anything is removed, so that a reader who finds messages gone also finds
why. The newest message of a topic is never removed with the others.
"""

from tailrace.backends.nats.committing import Committing, Draft
from tailrace.backends.nats.frames import Kind, State, index_of, position, sequence_of
from tailrace.backends.nats.ground import Ground
from tailrace.backends.nats.heads import Heads
from tailrace.backends.nats.ledger import Ledger
from tailrace.backends.nats.looking import Looking
from tailrace.backends.nats.session import Session
from tailrace.backends.nats.stored import Head, Stored
from tailrace.retention import Retention

MESSAGES = 256
"""Read at once while it is found out what has to go, up to ``SIZE`` bytes."""

SIZE = 4 * 2**20


class Upkeep:
    """For one thread. Raises what ``Session`` and ``Committing`` raise."""

    def __init__(
        self, session: Session, ground: Ground, looking: Looking, ledger: Ledger, heads: Heads, committing: Committing
    ) -> None:
        self._session = session
        self._ground = ground
        self._looking = looking
        self._ledger = ledger
        self._heads = heads
        self._committing = committing

    async def cut(self, topic: str, keep: Retention, cut: int, room: int, deadline: float) -> tuple[int, int, bool]:
        """Remove up to ``room`` records that are not kept.

        Args:
            cut: When the oldest was stored that ``keep.max_age`` keeps, in microseconds of the server's clock.

        Returns:
            How many were removed, their bytes, and whether there are more.
        """
        head = await self._heads.look(topic, deadline)
        before = head.state
        if before is None or before.horizon == before.last:
            return 0, 0, False
        state, more = await self._beyond(topic, before, keep, cut, room, deadline)
        if state.horizon == before.horizon:
            return 0, 0, False
        moved: list[bool] = []

        def plan(head: Head) -> Draft | None:
            now = head.state
            moved[:] = [now is not None and now.incarnation == state.incarnation and now.horizon < state.horizon]
            if now is None or not moved[0]:
                return None
            horizon = now._replace(horizon=state.horizon, gone=state.gone, gone_size=state.gone_size)
            return Draft(Kind.CONTROL, horizon)

        after = await self._committing.commit(topic, plan, deadline, fresh=True)
        if not moved[0] or after.state is None:
            return 0, 0, more
        await self._ledger.add(topic, after.state, after.sequence, deadline)
        await self._purge(topic, await self._first_kept(topic, after, deadline), deadline)
        return state.gone - before.gone, state.gone_size - before.gone_size, more

    async def _beyond(
        self, topic: str, state: State, keep: Retention, cut: int, room: int, deadline: float
    ) -> tuple[State, bool]:
        """Return the state with the horizon where it ought to be, and whether it ought to be further on."""
        if 0 in (keep.max_records, keep.max_bytes) and state.records - state.gone <= room:
            return state._replace(horizon=state.last, gone=state.records, gone_size=state.size), False
        start = sequence_of(state.horizon[0])
        while True:
            run = await self._looking.run(topic, start, MESSAGES, SIZE, deadline)
            for message in run.messages:
                if message.frame.state.incarnation != state.incarnation or message.frame.kind is not Kind.RECORDS:
                    continue
                state, room, more = _cut_message(message, state, keep, cut, room)
                if more is not None:
                    return state, more
            if run.whole or not run.messages:
                return state, False
            start = run.messages[-1].sequence + 1

    async def _first_kept(self, topic: str, head: Head, deadline: float) -> int:
        """Return the first message that has to stay."""
        assert head.state is not None
        place = head.state.horizon[0]
        if head.state.horizon == head.state.last:
            return head.sequence
        sequence = sequence_of(place)
        found = await self._looking.next(topic, sequence - 1, deadline)
        if found is None or found.sequence != sequence or index_of(place) + 1 < len(found.frame.lengths):
            return sequence
        return sequence + 1

    async def bury(self, topic: str, deadline: float, idle: float | None = None) -> bool:
        """End a topic's life, if nothing has been in it for ``idle`` seconds; return whether that was done."""
        ended: list[State] = []

        def plan(head: Head) -> Draft | None:
            state = head.state
            ended.clear()
            if state is None or (idle is not None and not self._is_idle(state, idle)):
                return None
            ended.append(state)
            return Draft(Kind.END, state)

        head = await self._committing.commit(topic, plan, deadline, fresh=True)
        if ended:
            await self._ledger.add(topic, ended[0], head.sequence, deadline, ended=True)
        if head.state is None and head.sequence:
            # Also what an earlier one left that was interrupted here.
            await self._purge(topic, head.sequence, deadline)
        return bool(ended)

    async def forget_grave(self, topic: str, end: Stored, deadline: float) -> None:
        """Remove what remains of a topic that was deleted long ago. A new life that begins meanwhile is not touched."""
        entry = await self._ledger.find(topic, deadline)
        if entry is not None and entry.ended and entry.incarnation == end.frame.state.incarnation:
            await self._ledger.forget(topic, entry, deadline)
        await self._purge(topic, end.sequence + 1, deadline)

    def _is_idle(self, state: State, idle: float) -> bool:
        emptied = state.horizon == state.last and state.seal is None
        return emptied and self._session.now - state.touched >= idle * 1e6

    async def _purge(self, topic: str, first_kept: int, deadline: float) -> None:
        if first_kept <= 1:
            # There is nothing before it, and servers from 2.9 to 2.12 take that number for none, and remove all.
            return
        names = self._ground.names
        body = {"filter": names.subject(topic), "seq": first_kept}
        await self._session.insist(f"STREAM.PURGE.{names.stream(topic)}", body, deadline)


def _cut_message(message: Stored, state: State, keep: Retention, cut: int, room: int) -> tuple[State, int, bool | None]:
    """Move the horizon over the records of one message; the last result says whether more must go, once known."""
    frame = message.frame
    for index, length in enumerate(frame.lengths):
        place = position(message.sequence, index)
        if place <= state.horizon[0]:
            continue
        if not _over(message, state, keep, cut):
            return state, room, False
        if not room:
            return state, room, True
        horizon = (place, frame.tag)
        state, room = state._replace(horizon=horizon, gone=state.gone + 1, gone_size=state.gone_size + length), room - 1
    return state, room, None


def _over(message: Stored, state: State, keep: Retention, cut: int) -> bool:
    return (
        (keep.max_records is not None and state.records - state.gone > keep.max_records)
        or (keep.max_bytes is not None and state.size - state.gone_size > keep.max_bytes)
        or (keep.max_age is not None and message.time < cut)
    )
