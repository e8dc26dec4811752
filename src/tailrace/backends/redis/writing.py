"""Changing topics: appending and sealing, one script call per topic."""

import functools
import logging
import os
from collections.abc import Sequence
from itertools import accumulate, islice
from typing import Any

from tailrace.backends.handle import patience
from tailrace.backends.redis.errors import explain
from tailrace.backends.redis.identity import RANDOM_DIGITS, seal_value, tag_of
from tailrace.backends.redis.keys import Keys, TopicKeys
from tailrace.backends.redis.nodes import Answer, Nodes, Question, Trouble
from tailrace.backends.redis.replication import Confirmation
from tailrace.backends.redis.scripts import Script, script
from tailrace.errors import TopicSealedError
from tailrace.options import StoreOptions
from tailrace.retention import Retention
from tailrace.spi import Appended, AppendOutcome, AppendRefused, AppendUnknown, Boundary, Entry
from tailrace.spi.identities import random_incarnation

_log = logging.getLogger("tailrace.redis")


class Writing:
    """Writes to one store. Thread-safe."""

    def __init__(self, nodes: Nodes, keys: Keys, options: StoreOptions, confirmation: Confirmation) -> None:
        self._nodes = nodes
        self._keys = keys
        self._confirmation = confirmation
        self._patience = patience(options)
        # An append may be on its way for so long; what is younger is kept.
        self._grace = options.append_timeout
        self.publish = b"PUBLISH"
        self._kept = options.kept
        self._told_unheard = False

    def append(self, entries: Sequence[Entry], timeout: float) -> Sequence[AppendOutcome]:
        """Store the entries, one script call per topic; return an outcome for each."""
        if len(entries) == 1:
            (entry,) = entries
            values = self._values(entry.topic, entry.payloads)
            then = self._confirmation.command(timeout)
            return self._outcomes(entries, self._run(script("append"), entry.topic, values, timeout, then))
        by_topic: dict[str, list[int]] = {}
        for index, entry in enumerate(entries):
            by_topic.setdefault(entry.topic, []).append(index)
        calls = [
            (topic, self._values(topic, [payload for index in indices for payload in entries[index].payloads]))
            for topic, indices in by_topic.items()
        ]
        replies = self._run_all(script("append"), calls, timeout)
        outcomes: dict[int, AppendOutcome] = {}
        for indices, reply in zip(by_topic.values(), replies, strict=True):
            parts = [entries[index] for index in indices]
            outcomes.update(zip(indices, self._outcomes(parts, reply), strict=True))
        return [outcomes[index] for index in range(len(entries))]

    def seal(self, topic: str, error: str | None) -> None:
        """End a topic.

        Raises:
            DurableStreamUnavailableError: It is not sealed, or (``maybe_stored``) it is not known whether it is.
        """
        keys = self._keys.of(topic)
        values = (keys.channel, self.publish, b"%d" % random_incarnation(), seal_value(error))
        self.run(script("seal"), topic, values, self._confirmation.command(self._patience))

    def run(self, which: Script, topic: str, values: Sequence[bytes], then: bytes = b"") -> Any:  # noqa: ANN401
        """Run a script on one topic and return what it returned."""
        reply = self._run(which, topic, values, self._patience, then)
        if isinstance(reply, Trouble):
            reply.error.maybe_stored = reply.sent
            raise reply.error
        return reply

    def _run(self, which: Script, topic: str, values: Sequence[bytes], timeout: float, then: bytes) -> Any:  # noqa: ANN401
        """Run a script on one topic; what comes back is its reply, or ``Trouble``."""
        keys = self._keys.of(topic)
        names = (keys.identity, keys.stream)
        # As in _run_all, without its lists: a lone append pays for each.
        answer = self._nodes.ask_one(_question(keys, which.call(names, values), then), timeout)
        if isinstance(answer, list) and _unknown_script(answer[0]):
            answer = self._nodes.ask_one(_question(keys, which.call_in_full(names, values), then), timeout)
        return self._reply(which, keys, answer)

    def _run_all(self, which: Script, calls: Sequence[tuple[str, Sequence[bytes]]], timeout: float) -> list[Any]:
        """Run a script once for each of several topics; what comes back are replies, or ``Trouble``."""
        keyed = [(self._keys.of(topic), values) for topic, values in calls]
        then = self._confirmation.command(timeout)
        questions = [_question(keys, which.call((keys.identity, keys.stream), values), then) for keys, values in keyed]
        answers = list(self._nodes.ask(questions, timeout))
        unknown = [at for at, answer in enumerate(answers) if isinstance(answer, list) and _unknown_script(answer[0])]
        if unknown:
            again = [
                _question(keys, which.call_in_full((keys.identity, keys.stream), values), then)
                for keys, values in (keyed[at] for at in unknown)
            ]
            for at, answer in zip(unknown, self._nodes.ask(again, timeout), strict=True):
                answers[at] = answer
        return [self._reply(which, keys, answer) for (keys, _), answer in zip(keyed, answers, strict=True)]

    def _reply(self, which: Script, keys: TopicKeys, answer: Answer) -> Any:  # noqa: ANN401 - a reply
        if isinstance(answer, Trouble):
            return answer
        reply, *confirmed = answer
        if not isinstance(reply, Exception):
            error = self._confirmation.missing(confirmed[0], self._nodes.name) if confirmed and reply != 0 else None
            return reply if error is None else Trouble(error, sent=True)
        error = explain(reply, self._nodes.name, keys, which.command_in(str(reply)))
        error.__cause__ = reply
        # A script that ends with an error has stored nothing, or has taken it back.
        return Trouble(error, sent=False)

    def _values(self, topic: str, payloads: Sequence[bytes]) -> Sequence[bytes]:
        noise = int.from_bytes(os.urandom(12))
        low, incarnation = noise % 10**RANDOM_DIGITS, (noise >> 32) & (2**63 - 1) or 1
        channel = self._keys.of(topic).channel
        sizes = [len(payload) for payload in payloads]
        told = (b"%d" % incarnation, b"%07d" % low, b"%d" % sum(sizes), b"%d" % max(sizes))
        return (channel, self.publish, *told, *_limits(self._kept(topic), self._grace), *payloads)

    def _outcomes(self, parts: Sequence[Entry], reply: Any) -> Sequence[AppendOutcome]:  # noqa: ANN401
        if isinstance(reply, Trouble):
            return [AppendUnknown(reply.error) if reply.sent else AppendRefused(reply.error)] * len(parts)
        if reply == 0:
            error = TopicSealedError("the topic is sealed: nothing can be appended to it any more")
            return [AppendRefused(error)] * len(parts)
        said = reply.split(b" ", 3)
        incarnation, last, tag = int(said[0]), int(said[1]), tag_of(said[2])
        if len(said) > 3:
            self._unheard(said[3])
        if len(parts) == 1:
            return [Appended(Boundary(incarnation, last, tag))]
        counts = [len(part.payloads) for part in parts]
        ends = islice(accumulate(counts, initial=last - sum(counts)), 1, None)
        return [Appended(Boundary(incarnation, end, tag)) for end in ends]

    def _unheard(self, why: bytes) -> None:
        if not self._told_unheard:
            self._told_unheard = True
            said = why.decode(errors="replace")
            _log.warning("records are stored, but %s lets nobody be woken by them: %s", self._nodes.name, said)


def _question(keys: TopicKeys, call: bytes, then: bytes) -> Question:
    return Question(keys.stream, call, 1, keys.channel, then)


def _unknown_script(reply: object) -> bool:
    return isinstance(reply, Exception) and str(reply).startswith("NOSCRIPT")


@functools.lru_cache
def _limits(keep: Retention, grace: float) -> tuple[bytes, ...]:
    """Return the arguments that say what appends cut: to exactly the limit, but only once it is passed by a part."""
    if keep.unbounded:
        return (b"0",)
    records, size = keep.max_records, keep.max_bytes
    age = None if keep.max_age is None else int((keep.max_age + grace) * 1000)
    pairs = (
        (records, None if records is None else records + min(records // 16, 256)),
        (size, None if size is None else size + min(size // 16, 2**20)),
        (age, None if age is None else age + age // 64),
    )
    return (b"6", *(whole(number) for pair in pairs for number in pair))


def whole(number: int | None) -> bytes:
    """Return a whole number as scripts read it; nothing for none."""
    return b"" if number is None else b"%d" % number
