"""Where topics stand, asked for, or remembered from the last write of this process. Lives on the loop's thread."""

from collections import OrderedDict

from tailrace.backends.nats.frames import State
from tailrace.backends.nats.ground import Ground
from tailrace.backends.nats.ledger import Ledger
from tailrace.backends.nats.looking import Looking
from tailrace.backends.nats.session import Session
from tailrace.backends.nats.stored import NOTHING, Head, head_of

KEPT = 8192
"""Topics whose newest message is remembered. A memory that is out of date is found out by the server's comparison."""


class Heads:
    """For one thread."""

    def __init__(self, session: Session, ground: Ground, looking: Looking, ledger: Ledger) -> None:
        self._session = session
        self._ground = ground
        self._looking = looking
        self._ledger = ledger
        self._known: OrderedDict[str, Head] = OrderedDict()
        self._era = 0

    async def look(self, topic: str, deadline: float) -> Head:
        """Return where a topic stands, by its newest message, or by the bucket if there is none."""
        stored = await self._looking.newest(topic, deadline)
        if stored is not None:
            return head_of(stored)
        entry = await self._ledger.find(topic, deadline)
        if entry is None:
            return NOTHING
        # An entry is written behind its message. So one that was born between the two looks would pass for one whose
        # messages somebody removed.
        stored = await self._looking.newest(topic, deadline)
        if stored is not None:
            return head_of(stored)
        lives = not entry.ended and entry.stream == self._ground.created
        if entry.sealed and lives:
            # The server removed every message behind our back. The seal holds all the same, and so does its place.
            state = State(entry.incarnation, last=entry.last, horizon=entry.last, seal=entry.seal)
            return Head(0, state, 0)
        # Ended, or emptied by somebody else: then its places can not be told from lost ones, and it counts as deleted.
        return Head(0, None, entry.incarnation)

    async def get(self, topic: str, deadline: float) -> Head:
        """Return where a topic stood when this process wrote to it last; look, if that is not known."""
        if self._era != self._session.era:
            # Perhaps another server, or a store that was restored meanwhile.
            self._era = self._session.era
            self._known.clear()
        head = self._known.get(topic)
        return await self.look(topic, deadline) if head is None else head

    def written(self, topic: str) -> int:
        """Return the sequence of the last message that this process wrote on this connection, 0 for none."""
        head = self._known.get(topic) if self._era == self._session.era else None
        return 0 if head is None else head.sequence

    def keep(self, topic: str, head: Head) -> None:
        """Remember what this process has just written."""
        if head.state is not None and head.state.seal is not None:
            # Nothing is published to such a topic, so the server would never say that it has been deleted since.
            self.drop(topic)
            return
        self._known[topic] = head
        self._known.move_to_end(topic)
        if len(self._known) > KEPT:
            self._known.popitem(last=False)

    def drop(self, topic: str) -> None:
        """Forget what turned out to be out of date."""
        self._known.pop(topic, None)
