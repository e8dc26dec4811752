"""Live messages over Redis and Valkey, in three forms of one shape.

``pubsub``: PUBLISH, heard by whoever is subscribed, on every node of a cluster. ``sharded``: SPUBLISH, heard at the
node that has the topic. ``streams``: kept for a while, so that a start can be fixed before anybody listens.
"""

from typing_extensions import override

from tailrace.backends.redis.broadcast.homes import OneHome, ShardedHomes
from tailrace.backends.redis.broadcast.line import RedisLine
from tailrace.backends.redis.broadcast.names import Names
from tailrace.backends.redis.broadcast.reception import Direct, Reception
from tailrace.backends.redis.broadcast.replay import BEGINNING, FOREIGN, Replay, read_entry
from tailrace.backends.redis.cluster import Cluster
from tailrace.backends.redis.errors import explain
from tailrace.backends.redis.nodes import Answer, Nodes, Question, Trouble
from tailrace.backends.redis.resp import pack
from tailrace.backends.redis.scripts import script
from tailrace.backends.redis.sentinel import Primary
from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError
from tailrace.spi import Carrier, Line, Listener, Mark

PATIENCE = 5.0
"""Seconds that connecting, sending and reading may take on behalf of all who listen."""


class RedisCarrier(Carrier):
    """Thread-safe. Its connections see to forks themselves."""

    def __init__(self, nodes: Nodes, names: Names, *, sharded: bool) -> None:
        self.name = nodes.name
        self._nodes = nodes
        self._names = names
        self._sharded = sharded
        self._publish = b"SPUBLISH" if sharded else b"PUBLISH"

    @override
    def publish(self, topic: str, payload: bytes, timeout: float) -> None:
        channel = self._names.of(topic).channel
        # Also PUBLISH, which any node would take: two messages that go through two nodes overtake each other.
        answer = self._nodes.ask_one(Question(channel, pack((self._publish, channel, payload)), 1), timeout)
        self._taken(answer)

    @override
    def tail(self, topic: str, timeout: float) -> Mark | None:
        return None

    @override
    def open(self, listener: Listener) -> Line:
        nodes = self._nodes
        if self._sharded and isinstance(nodes, Cluster):
            homes: OneHome | ShardedHomes = ShardedHomes(nodes, PATIENCE)
        else:
            homes = OneHome(nodes, sharded=self._sharded)
        return RedisLine(homes, self._reception(listener), listener, self._era, PATIENCE)

    @override
    def close(self) -> None:
        self._nodes.close()

    def _era(self) -> int:
        if isinstance(self._nodes, Primary):
            # Whoever only listens asks nothing else that could tell.
            self._nodes.check()
        return self._nodes.era

    def _reception(self, listener: Listener) -> Reception:
        return Direct(self._names, listener)

    def _taken(self, answer: Answer) -> None:
        if isinstance(answer, Trouble):
            answer.error.maybe_stored = answer.sent
            raise answer.error
        (reply,) = answer
        if isinstance(reply, Exception):
            raise self._refusal(reply) from reply

    def _refusal(self, error: Exception) -> DurableStreamUnavailableError:
        return explain(error, self.name)


class RedisStreams(RedisCarrier):
    """With a stream for each topic.

    Args:
        keep: Messages that are kept of each topic; a few more may be.
        keep_for: Seconds that a topic's are kept after the last one.
    """

    def __init__(self, nodes: Nodes, names: Names, *, keep: int, keep_for: float) -> None:
        super().__init__(nodes, names, sharded=nodes.sharded)
        self._kept = (b"%d" % keep, b"%d" % max(1, round(keep_for * 1000)))

    @override
    def publish(self, topic: str, payload: bytes, timeout: float) -> None:
        named, run = self._names.of(topic), script("publish")
        keys, values = (named.stream,), (named.hints, self._publish, *self._kept, payload)
        answer = self._nodes.ask_one(Question(named.stream, run.call(keys, values), 1, named.hints), timeout)
        if isinstance(answer, list) and str(answer[0]).startswith("NOSCRIPT"):
            # It did certainly not run.
            full = run.call_in_full(keys, values)
            answer = self._nodes.ask_one(Question(named.stream, full, 1, named.hints), timeout)
        self._taken(answer)

    @override
    def tail(self, topic: str, timeout: float) -> Mark | None:
        stream = self._names.of(topic).stream
        command = pack((b"XREVRANGE", stream, b"+", b"-", b"COUNT", 1))
        answer = self._nodes.ask_one(Question(stream, command, 1), timeout)
        if isinstance(answer, Trouble):
            raise answer.error
        (entries,) = answer
        if isinstance(entries, Exception):
            raise explain(entries, self.name, named(stream)) from entries
        if not entries:
            return BEGINNING
        found = read_entry(entries[0])
        if found is None:
            raise StoreUnusableError(f"{self.name} {FOREIGN} ({named(stream)})")
        return found[1]

    @override
    def _reception(self, listener: Listener) -> Reception:
        return Replay(self._names, listener, self._nodes, PATIENCE)

    @override
    def _refusal(self, error: Exception) -> DurableStreamUnavailableError:
        refusal = explain(error, self.name)
        # What was refused may be the hint.
        refusal.maybe_stored = True
        return refusal


def named(key: bytes) -> str:
    """Return a key for people."""
    return key.decode(errors="backslashreplace")
