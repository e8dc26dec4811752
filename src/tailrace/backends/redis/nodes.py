"""Asking the server: pipelines over a few connections, with what went wrong told for each question.

``Nodes`` is what reading and writing know: they do not see whether there is one server, a primary that moves, or a
cluster.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

import hiredis

from tailrace.backends.connections import Connections
from tailrace.backends.redis import errors
from tailrace.backends.redis.hello import ASK_WHO, Hello, read_hello
from tailrace.backends.redis.slots import ASK_SLOTS, primaries
from tailrace.backends.redis.wire import Wire
from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError
from tailrace.forks import renew_in_child

PIPELINED = 128
"""Questions sent before their answers are read: the server holds what it has answered and nobody has read yet."""


class Question(NamedTuple):
    """Commands about the keys of one slot, packed.

    Attributes:
        key: Any of them; empty if the commands are about none.
        replies: How many answers they get.
        channel: Where what they change is told, if they change anything.
        then: Asked once after all questions of the round trip, which all have it or none; what is answered is added
            to the replies of each.
    """

    key: bytes
    commands: bytes
    replies: int
    channel: bytes = b""
    then: bytes = b""


@dataclass(slots=True, frozen=True)
class Trouble:
    """A question without an answer. ``sent``: the server may have done what it was asked for."""

    error: DurableStreamUnavailableError
    sent: bool


Answer: TypeAlias = list[Any] | Trouble


def conclude(answers: Sequence[Answer], last: Sequence[Any]) -> None:
    """Add what was answered after all questions to the answers."""
    for answer in answers:
        if isinstance(answer, list):
            answer += last


def unfinished(questions: Sequence[Question], answers: Sequence[Answer], trouble: Trouble) -> list[Answer]:
    """Return the answers of a round trip that broke off: what lacks something is in trouble."""
    complete = [] if questions[0].then else [*answers]
    return complete + [trouble] * (len(questions) - len(complete))


class Nodes(Protocol):
    """The servers of one store. Thread-safe.

    Attributes:
        name: For messages.
        database: The number of the one that is used.
        era: Another number whenever other servers have taken over: a watch of before has to be opened anew.
        sharded: Whether hints go through the node that has the topic, and only through it. Known after ``greet``.
    """

    name: str
    era: int
    sharded: bool
    database: int

    def greet(self, timeout: float) -> str:
        """Make sure that the servers can be used; return their product and version.

        Raises:
            StoreUnusableError: They can not; the message says what to do.
            DurableStreamUnavailableError: They are away.
        """
        ...

    def ask_one(self, question: Question, timeout: float) -> Answer:
        """Do as ``ask``, for one question."""
        ...

    def ask(self, questions: Sequence[Question], timeout: float) -> Sequence[Answer]:
        """Send all questions, at most one round trip per node and ``PIPELINED`` of them; return an answer for each.

        What may have been done is never sent again. An error of the server is a reply. Never raises for a server that
        fails.
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
    """One server, or what stands behind one name.

    Args:
        name: For messages.
        dial: Opens a connection within so many seconds.
        database: Which one the connections have selected.
    """

    era = 0
    sharded = False

    def __init__(self, name: str, dial: Callable[[float], Wire], database: int = 0) -> None:
        self.name = name
        self.database = database
        self._dial = dial
        self._closed = False
        self.connections = Connections(dial)
        renew_in_child(self)

    def greet(self, timeout: float) -> str:
        hello = self.hello(timeout)
        if hello.mode == "sentinel":
            raise StoreUnusableError(f"{self.name} is a sentinel: connect with redis+sentinel://host:port/service")
        if hello.mode == "cluster" and self._has_neighbours(timeout):
            raise StoreUnusableError(f"{self.name} is one node of a cluster: connect with redis+cluster://host:port")
        return hello.product

    def hello(self, timeout: float) -> Hello:
        """Return what the server says of itself.

        Raises:
            StoreUnusableError: It can not be used.
            DurableStreamUnavailableError: It is away.
        """
        answer = self.ask_one(Question(b"", ASK_WHO, 3), timeout)
        if isinstance(answer, Trouble):
            raise answer.error
        return read_hello(answer, self.name)

    def _has_neighbours(self, timeout: float) -> bool:
        answer = self.ask_one(Question(b"", ASK_SLOTS, 1), timeout)
        return isinstance(answer, list) and isinstance(answer[0], list) and len(primaries(answer[0])) > 1

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
        return self._dial(timeout)

    def close(self) -> None:
        self._closed = True
        self.connections.close()

    def after_fork(self) -> None:
        """Begin with connections of our own."""
        self.connections.forget()

    def _ask(self, questions: Sequence[Question], deadline: float) -> list[Answer]:
        answers: list[Answer] = []
        sent = False
        try:
            slot = self.connections.take(deadline)
        except DurableStreamUnavailableError as exc:
            return [Trouble(exc, sent=False)] * len(questions)
        whole, wire = False, slot.wire
        assert wire is not None
        try:
            data = questions[0].commands if len(questions) == 1 else b"".join([each.commands for each in questions])
            then = questions[0].then
            # From here on, whatever happens, the server may have got it.
            sent = True
            wire.send(data + then if then else data, deadline)
            for question in questions:
                # One by one: what was answered before a failure stays answered.
                answers.append(wire.receive(question.replies, deadline))  # noqa: PERF401
            if then:
                conclude(answers, wire.receive(1, deadline))
            whole = True
        except (OSError, hiredis.ProtocolError) as exc:
            answers = unfinished(questions, answers, Trouble(self.explain(exc), sent))
        finally:
            # Also when the caller was interrupted: what is still to be read would be taken for the next answer.
            self.connections.give_back(slot, keep=whole)
            # An exception may keep this frame alive, and whoever borrows the slot next must be the only one who has it.
            del slot
        return answers

    def explain(self, exc: Exception) -> DurableStreamUnavailableError:
        """Return our error for one that a connection raised."""
        if self._closed:
            return DurableStreamUnavailableError("the store is closed")
        error = errors.explain(exc, self.name)
        error.__cause__ = exc
        return error
