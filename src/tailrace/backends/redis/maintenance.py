"""Operations on a Redis store: list, trim, delete, sweep."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from typing_extensions import override

from tailrace.backends.handle import patience
from tailrace.backends.redis.errors import explain
from tailrace.backends.redis.identity import EPOCH_MS, FIELDS, Identity, milliseconds, sound
from tailrace.backends.redis.keys import Keys
from tailrace.backends.redis.nodes import Nodes, Question, Trouble
from tailrace.backends.redis.resp import pack
from tailrace.backends.redis.scripts import script
from tailrace.backends.redis.sweep import Sweeper
from tailrace.backends.redis.writing import Writing, whole
from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError
from tailrace.options import StoreOptions
from tailrace.retention import Retention
from tailrace.spi import Maintenance, SweepBudget, SweepReport, TopicInfo
from tailrace.spi.identities import random_incarnation

ROOM = 1000
"""Records removed by one script call: everybody else waits for it."""

SCANNED = 1000
"""Keys that one step of a scan looks at."""


class Found(NamedTuple):
    """What one step of a scan found.

    Attributes:
        names: Of topics.
        cursor: Where the next step begins; ``0`` at the end of the node.
        more: Whether there is another node.
        error: Why the node could not be scanned, if it could not.
    """

    names: list[str]
    cursor: bytes
    more: bool
    error: DurableStreamUnavailableError | None = None


class Upkeep:
    """What sweeps and listings are made of. Thread-safe."""

    def __init__(self, nodes: Nodes, keys: Keys, writing: Writing, options: StoreOptions) -> None:
        self.options = options
        self._nodes = nodes
        self._keys = keys
        self._writing = writing

    def scan(self, node: int, cursor: bytes, prefix: str = "") -> Found:
        """Do one step of a scan. Never raises for a node that is away."""
        command = (b"SCAN", cursor, b"MATCH", self._keys.pattern(prefix), b"COUNT", SCANNED)
        answer, more = self._nodes.ask_everywhere(pack(command), node, patience(self.options))
        if isinstance(answer, Trouble):
            return Found([], b"0", more, answer.error)
        (reply,) = answer
        if isinstance(reply, Exception):
            return Found([], b"0", more, explain(reply, self._nodes.name))
        names = (self._keys.topic(key) for key in reply[1])
        return Found([name for name in names if name is not None], reply[0], more)

    def every(self, prefix: str) -> Iterator[str]:
        """Return the topics of all nodes; some perhaps twice.

        Raises:
            DurableStreamUnavailableError: A node did not answer, or refused.
        """
        node, more = 0, True
        while more:
            cursor = b"0"
            while True:
                names, cursor, more, error = self.scan(node, cursor, prefix)
                if error is not None:
                    raise error
                yield from names
                if cursor == b"0":
                    break
            node += 1

    def look(self, topics: Sequence[str]) -> list[Identity | None]:
        """Return what each topic's identity says; ``None`` for a tombstone, or for what is none of ours.

        Raises:
            DurableStreamUnavailableError: The server did not answer, or refused.
        """
        asked = [
            Question(key, pack((b"HMGET", key, *FIELDS)), 1)
            for key in (self._keys.of(topic).identity for topic in topics)
        ]
        answers = self._nodes.ask(asked, patience(self.options))
        return [self._identity(answer) for answer in answers]

    def _identity(self, answer: "list[list[bytes | None]] | Trouble") -> Identity | None:
        if isinstance(answer, Trouble):
            raise answer.error
        (values,) = answer
        if isinstance(values, Exception):
            if str(values).startswith("WRONGTYPE"):
                return None
            raise explain(values, self._nodes.name) from values
        try:
            return sound(values)
        except StoreUnusableError:
            return None

    def cut(self, topic: str, keep: Retention, grace: float, room: int) -> tuple[int, int, bool]:
        """Remove up to ``room`` records that are not kept; return how many, their bytes, and whether there are more."""
        age = None if keep.max_age is None else int((keep.max_age + grace) * 1000)
        values = (whole(keep.max_records), whole(keep.max_bytes), whole(age), b"%d" % room)
        removed, freed, more = self._writing.run(script("trim"), topic, values)
        return removed, freed, bool(more)

    def bury(self, topic: str, idle: float | None = None) -> bool:
        """End a topic's life, if nothing has been in it for ``idle`` seconds; return whether that was done."""
        values = (
            self._keys.of(topic).channel,
            self._writing.publish,
            b"%d" % max(1, int(self.options.tombstone_for * 1000)),
            whole(None if idle is None else int(idle * 1000)),
            b"%d" % random_incarnation(),
        )
        return bool(self._writing.run(script("delete"), topic, values))


class RedisMaintenance(Maintenance):
    """The ``Maintenance`` half of the store."""

    _upkeep: Upkeep
    _sweeper: Sweeper

    @override
    def topics(self, prefix: str = "", after: str = "", limit: int = 1000) -> Sequence[TopicInfo]:
        """List existing topics in byte order. Scans all keys of the database, whatever the limit."""
        names = {name for name in self._upkeep.every(prefix) if name.encode() > after.encode()}
        found: list[TopicInfo] = []
        later = sorted(names, key=str.encode)
        for start in range(0, len(later), SCANNED):
            if len(found) >= limit:
                break
            some = later[start : start + SCANNED]
            looked = zip(some, self._upkeep.look(some), strict=True)
            found += [_info(name, identity) for name, identity in looked if identity is not None]
        return found[:limit]

    @override
    def trim(self, topic: str, retention: Retention) -> int:
        removed, more = 0, True
        while more:
            some, _freed, more = self._upkeep.cut(topic, retention, self._upkeep.options.append_timeout, ROOM)
            removed += some
        return removed

    @override
    def delete(self, topic: str) -> bool:
        return self._upkeep.bury(topic)

    @override
    def sweep(self, budget: SweepBudget) -> SweepReport:
        return self._sweeper.sweep(budget)


def _info(name: str, identity: Identity) -> TopicInfo:
    touched = milliseconds(identity.last_low)
    at = (touched + EPOCH_MS) / 1000 if touched else None
    return TopicInfo(name, identity.records, identity.size, at, identity.bounds.seal)
