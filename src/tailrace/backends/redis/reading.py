"""Looking at topics: where they stand, whether a place holds, what follows it. Writes nothing.

A look is the identity, a range of the stream, and the identity again, in one pipeline. Every script that changes a
topic changes its identity; so if both are the same, the range is of that moment. MULTI/EXEC would say the same at the
same price, but not on a server that is full: that refuses to queue commands, and readers have to go on there. What a
look means is decided in ``pages.py``.
"""

import functools
from collections.abc import Sequence
from typing import Any

from tailrace.backends.redis.errors import explain
from tailrace.backends.redis.identity import FIELDS, WITNESSES, Identity, grave_of, sound, tag_of
from tailrace.backends.redis.keys import Keys, TopicKeys
from tailrace.backends.redis.news import News
from tailrace.backends.redis.nodes import Answer, Nodes, Question, Trouble
from tailrace.backends.redis.pages import check_ours, microseconds, page, split
from tailrace.backends.redis.resp import pack
from tailrace.backends.redis.sizes import Sizes
from tailrace.errors import DurableStreamUnavailableError
from tailrace.spi import Boundary, Bounds, ReadFailed, ReadOutcome, ReadRequest, Unborn

LOOKS = 10
"""How often a topic is looked at that changes every time between two commands of one pipeline."""

_TIME = pack((b"TIME",))


class Changed(Exception):  # noqa: N818 - no error: look again
    """The topic changed during the look."""


class Reading:
    """Reads one store. Thread-safe."""

    def __init__(self, nodes: Nodes, keys: Keys, news: News, tombstone_for: float, patience: float) -> None:
        self._nodes = nodes
        self._news = news
        self._tombstone_for = tombstone_for
        self._patience = patience
        self._sizes = Sizes()
        self._asking = functools.lru_cache(8192)(lambda topic: Asking(keys.of(topic)))

    def bounds(self, topic: str) -> Bounds | Unborn:
        """Return where a topic stands."""
        asking = self._asking(topic)
        question = Question(asking.keys.stream, asking.identity + asking.length + _TIME, 3)
        values, length, clock = self._replies(asking, self._nodes.ask_one(question, self._patience))
        identity = self._identity(asking, values, length)
        if identity is None:
            return Unborn(microseconds(clock), grave_of(values))
        self._sizes.note(topic, identity)
        return identity.bounds if length == identity.records else self._bounds_with_holes(asking)

    def _bounds_with_holes(self, asking: "Asking") -> Bounds:
        # Somebody else removed records. The beginning is before the first that is left, whose tag proves it.
        for _ in range(LOOKS):
            answer = self._nodes.ask_one(asking.look(b"-", 1), self._patience)
            try:
                values, entries = self._looked(asking, answer)[:2]
            except Changed:
                continue
            identity = self._identity(asking, values, entries)
            if identity is None:
                raise DurableStreamUnavailableError("the topic was deleted at this moment")
            bounds = identity.bounds
            if not entries:
                return Bounds(bounds.tail, bounds.tail, bounds.seal)
            sequence, low = split(entries[0])
            check_ours(sequence, bounds, asking.keys)
            if sequence == bounds.beginning.position + 1:
                return bounds
            return Bounds(Boundary(bounds.tail.incarnation, sequence - 1, tag_of(low)), bounds.tail, bounds.seal)
        raise _restless()

    def read(self, requests: Sequence[ReadRequest]) -> Sequence[ReadOutcome]:
        """Check each place and read after it."""
        outcomes: list[ReadOutcome | None] = [None] * len(requests)
        left: Sequence[int] = range(len(requests))
        for _ in range(LOOKS):
            some = requests if len(left) == len(requests) else [requests[at] for at in left]
            for at, outcome in zip(left, self._read(some), strict=True):
                outcomes[at] = outcome
            left = [at for at in left if outcomes[at] is None]
            if not left:
                break
        return [outcome or ReadFailed(_restless()) for outcome in outcomes]

    def _read(self, requests: Sequence[ReadRequest]) -> Sequence[ReadOutcome | None]:
        told = [self._news.take(request) for request in requests]
        if None not in told:
            return told
        left = [request for request, page in zip(requests, told, strict=True) if page is None]
        # It is older than this look, and whoever comes later would be answered from it about a place that may be gone.
        self._news.forget([request.topic for request in left])
        asked = iter(self._ask(left))
        return [page or next(asked) for page in told]

    def _ask(self, requests: Sequence[ReadRequest]) -> Sequence[ReadOutcome | None]:
        counts = [self._sizes.count(request) for request in requests]
        questions = [self._question(*asked) for asked in zip(requests, counts, strict=True)]
        if len(questions) == 1:
            return [self._outcome(requests[0], counts[0], self._nodes.ask_one(questions[0], self._patience))]
        answers = self._nodes.ask(questions, self._patience)
        return [self._outcome(*answered) for answered in zip(requests, counts, answers, strict=True)]

    def _question(self, request: ReadRequest, count: int) -> Question:
        after = request.after
        if isinstance(after, Unborn):
            question = self._asking(request.topic).look(b"-", count + 1)
            return Question(question.key, question.commands + _TIME, 4)
        # From its own record on.
        return self._asking(request.topic).look(b"%d-0" % after.position, count + 1)

    def _outcome(self, request: ReadRequest, count: int, answer: Answer) -> ReadOutcome | None:
        asking = self._asking(request.topic)
        try:
            values, entries, clock = self._looked(asking, answer)
            unborn = isinstance(request.after, Unborn)
            identity = self._identity(asking, values, entries) if unborn else sound(values)
            if identity is not None:
                self._sizes.note(request.topic, identity)
            now = microseconds(clock) if clock else 0
            return page(request, count, identity, entries, grave_of(values), now, self._tombstone_for, asking.keys)
        except Changed:
            return None
        except DurableStreamUnavailableError as exc:
            return ReadFailed(exc)

    def _looked(self, asking: "Asking", answer: Answer) -> tuple[Any, Any, Any]:
        values, entries, again, *clock = self._replies(asking, answer)
        if values[: len(again)] != again:
            raise Changed
        return values, entries, clock[0] if clock else None

    def _replies(self, asking: "Asking", answer: Answer) -> list[Any]:
        if isinstance(answer, Trouble):
            raise answer.error
        for reply in answer:
            if isinstance(reply, Exception):
                raise explain(reply, self._nodes.name, asking.keys) from reply
        return answer

    def _identity(self, asking: "Asking", values: Sequence[bytes | None], stream: object) -> Identity | None:
        identity = sound(values)
        if identity is None and stream:
            raise explain(ValueError("ORPHANED records without an identity"), self._nodes.name, asking.keys)
        return identity


class Asking:
    """The commands about one topic, packed once."""

    __slots__ = ("identity", "keys", "length", "witnesses")

    def __init__(self, keys: TopicKeys) -> None:
        self.keys = keys
        self.identity = pack((b"HMGET", keys.identity, *FIELDS))
        self.witnesses = pack((b"HMGET", keys.identity, *FIELDS[:WITNESSES]))
        self.length = pack((b"XLEN", keys.stream))

    def look(self, start: bytes, count: int) -> Question:
        """Return the question for the identity and that many entries."""
        entries = pack((b"XRANGE", self.keys.stream, start, b"+", b"COUNT", count))
        return Question(self.keys.stream, self.identity + entries + self.witnesses, 3)


def _restless() -> DurableStreamUnavailableError:
    return DurableStreamUnavailableError(f"the topic changed during each of {LOOKS} looks at it")
