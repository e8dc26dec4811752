"""Asking the server: pipelines over a few connections, with what went wrong told for each question.

``Nodes`` is what reading and writing know: they do not see whether there is one server, a primary that moves, or a
cluster.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

import hiredis

from tailrace.backends.redis.connections import Connections
from tailrace.backends.redis.errors import explain
from tailrace.backends.redis.location import Location
from tailrace.backends.redis.wire import Wire, dial
from tailrace.errors import DurableStreamUnavailableError
from tailrace.forks import renew_in_child

PIPELINED = 128
"""Questions sent before their answers are read: the server holds what it has answered and nobody has read yet."""


class Question(NamedTuple):
    """Commands about the keys of one slot, packed; ``replies`` is how many answers they get."""

    key: bytes
    commands: bytes
    replies: int


@dataclass(slots=True, frozen=True)
class Trouble:
    """A question without an answer. ``sent``: the server may have done what it was asked for."""

    error: DurableStreamUnavailableError
    sent: bool


Answer: TypeAlias = list[Any] | Trouble


class Nodes(Protocol):
    """The servers of one store. Thread-safe."""

    @property
    def name(self) -> str:
        """For messages."""
        ...

    def ask_one(self, question: Question, timeout: float) -> Answer:
        """Do as ``ask``, for one question."""
        ...

    def ask(self, questions: Sequence[Question], timeout: float) -> Sequence[Answer]:
        """Send all questions, at most one round trip per node and ``PIPELINED`` of them; return an answer for each.

        Nothing is ever sent twice. An error of the server is a reply. Never raises for a server that fails.
        """
        ...

    def ask_everywhere(self, commands: bytes, node: int, timeout: float) -> tuple[Answer, bool]:
        """Send one command to the node of that number; return its answer, and whether there is another node."""
        ...

    def dial(self, timeout: float) -> Wire:
        """Open a connection for the watch."""
        ...

    def close(self) -> None:
        """Close everything. Idempotent, never raises; who waits for an answer is told."""
        ...


class SingleNode(Nodes):
    """One server."""

    def __init__(self, location: Location) -> None:
        self._location = location
        self._closed = False
        self._connections = Connections(location)
        renew_in_child(self)

    @property
    def name(self) -> str:
        return self._location.name

    def ask_one(self, question: Question, timeout: float) -> Answer:
        return self._ask((question,), time.monotonic() + timeout)[0]

    def ask(self, questions: Sequence[Question], timeout: float) -> Sequence[Answer]:
        deadline = time.monotonic() + timeout
        answers: list[Answer] = []
        for start in range(0, len(questions), PIPELINED):
            answers += self._ask(questions[start : start + PIPELINED], deadline)
        return answers

    def ask_everywhere(self, commands: bytes, node: int, timeout: float) -> tuple[Answer, bool]:
        return self.ask_one(Question(b"", commands, 1), timeout), False

    def dial(self, timeout: float) -> Wire:
        if self._closed:
            raise DurableStreamUnavailableError("the store is closed")
        return dial(self._location, timeout)

    def close(self) -> None:
        self._closed = True
        self._connections.close()

    def after_fork(self) -> None:
        """Begin with connections of our own."""
        self._connections.forget()

    def _ask(self, questions: Sequence[Question], deadline: float) -> list[Answer]:
        answers: list[Answer] = []
        sent = False
        try:
            wire = self._connections.take(deadline)
        except DurableStreamUnavailableError as exc:
            return [Trouble(exc, sent=False)] * len(questions)
        whole = False
        try:
            data = questions[0].commands if len(questions) == 1 else b"".join([each.commands for each in questions])
            # From here on, whatever happens, the server may have got it.
            sent = True
            wire.send(data, deadline)
            for question in questions:
                # One by one: what was answered before a failure stays answered.
                answers.append(wire.receive(question.replies, deadline))  # noqa: PERF401
            whole = True
        except (OSError, hiredis.ProtocolError) as exc:
            trouble = Trouble(self._explain(exc), sent)
            answers += [trouble] * (len(questions) - len(answers))
        finally:
            # Also when the caller was interrupted: what is still to be read would be taken for the next answer.
            self._connections.give_back(wire, keep=whole)
        return answers

    def _explain(self, exc: Exception) -> DurableStreamUnavailableError:
        if self._closed:
            return DurableStreamUnavailableError("the store is closed")
        error = explain(exc, self.name)
        error.__cause__ = exc
        return error
