"""Messages that are kept for a while: each topic is read from where its listeners began, whenever a hint says so.

One place is kept for each topic, whatever the number of listeners: whoever begins before it has it put back, and the
others know by the mark what they were told already.
"""

import time
from collections import deque
from collections.abc import Sequence
from typing import Any

from typing_extensions import override

from tailrace.backends.redis.broadcast.names import Names
from tailrace.backends.redis.broadcast.reception import Reception
from tailrace.backends.redis.errors import explain
from tailrace.backends.redis.nodes import PIPELINED, Answer, Nodes, Question, Trouble
from tailrace.backends.redis.resp import pack
from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError
from tailrace.spi import Listener, Mark

PAGE = 256
"""Messages of one topic that are read at once."""

ANYWAY = 5.0
"""Seconds after which topics are read without a hint: a publisher may have no right to give them."""

BEGINNING = Mark((0, 0), 0)
"""Where a topic ends that does not exist."""


class Replay(Reception):
    """Reads what hints announce."""

    def __init__(self, names: Names, listener: Listener, nodes: Nodes, patience: float) -> None:
        super().__init__(names, listener)
        self._nodes = nodes
        self._patience = patience
        self._starts: dict[bytes, deque[Mark]] = {}
        self._places: dict[str, tuple[int, int]] = {}
        self._moved: dict[str, None] = {}
        self.due = float("inf")

    @override
    def channel_of(self, topic: str) -> bytes:
        return self._names.of(topic).hints

    @override
    def follow(self, topic: str, start: Mark | None) -> bytes:
        channel = super().follow(topic, start)
        self._starts.setdefault(channel, deque()).append(start or BEGINNING)
        return channel

    @override
    def leave(self, topic: str) -> bytes:
        self._forget(topic)
        return super().leave(topic)

    @override
    def joined(self, channel: bytes) -> None:
        topic = self._topics.get(channel)
        if topic in self._places:
            # Whoever is confirmed comes after what the others have been told, as where messages come by themselves.
            self._moved[topic] = None
            while topic in self._moved:
                self._read([topic])
        super().joined(channel)
        starts = self._starts.get(channel)
        if not starts:
            return
        start = starts.popleft()
        if not starts:
            del self._starts[channel]
        if topic is not None:
            # Not before: what is read is told to those who have joined only.
            self._places[topic] = min(start.place, self._places.get(topic, start.place))
            self._moved[topic] = None
            self.due = min(self.due, time.monotonic() + ANYWAY)

    @override
    def lost(self, channel: bytes, error: DurableStreamUnavailableError) -> None:
        self._starts.pop(channel, None)
        topic = self._topics.get(channel)
        if topic is not None:
            self._forget(topic)
        super().lost(channel, error)

    @override
    def message(self, channel: bytes, payload: bytes) -> None:
        topic = self._topics.get(channel)
        if topic in self._places:
            self._moved[topic] = None

    @override
    def look(self) -> bool:
        if time.monotonic() >= self.due:
            self._moved.update(dict.fromkeys(self._places))
            self.due = time.monotonic() + ANYWAY if self._places else float("inf")
        if self._moved:
            self._read([*self._moved][:PIPELINED])
        return bool(self._moved)

    def _read(self, topics: Sequence[str]) -> None:
        for topic in topics:
            del self._moved[topic]
        questions = [self._question(topic) for topic in topics]
        for topic, answer in zip(topics, self._nodes.ask(questions, self._patience), strict=True):
            self._tell(topic, answer)

    def _question(self, topic: str) -> Question:
        stream = self._names.of(topic).stream
        return Question(stream, pack((b"XRANGE", stream, b"(%d-%d" % self._places[topic], b"+", b"COUNT", PAGE)), 1)

    def _tell(self, topic: str, answer: Answer) -> None:
        if isinstance(answer, Trouble):
            self.lost(self.channel_of(topic), answer.error)
            return
        (entries,) = answer
        if isinstance(entries, Exception):
            self.lost(self.channel_of(topic), explain(entries, self._nodes.name))
            return
        for entry in entries:
            found = read_entry(entry)
            if found is None:
                self.lost(self.channel_of(topic), StoreUnusableError(f"{self._nodes.name} {FOREIGN}"))
                return
            payload, mark = found
            self._places[topic] = mark.place
            self._listener.heard(topic, payload, mark)
        if len(entries) == PAGE:
            self._moved[topic] = None

    def _forget(self, topic: str) -> None:
        self._places.pop(topic, None)
        self._moved.pop(topic, None)


FOREIGN = "has entries of somebody else in the stream of this topic: use a prefix"


def read_entry(entry: Any) -> tuple[bytes, Mark] | None:  # noqa: ANN401 - as the server tells it
    """Return the message of an entry; ``None`` if it is not one of ours."""
    name, fields = entry
    if len(fields) != 4 or fields[0] != b"n" or fields[2] != b"p" or not fields[1].isdigit():
        return None
    ms, _, sequence = name.partition(b"-")
    return fields[3], Mark((int(ms), int(sequence)), int(fields[1]))
