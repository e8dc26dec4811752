"""Questions to several nodes at once: all are sent before any answer is read, and whoever answers is read first."""

import select
import time
from collections.abc import Iterable, Sequence

import hiredis

from tailrace.backends.connections import Slot
from tailrace.backends.redis.nodes import Answer, Question, SingleNode, Trouble, conclude, unfinished
from tailrace.backends.redis.wire import Wire
from tailrace.errors import DurableStreamUnavailableError

GRACE = 0.25
"""Seconds after the deadline for answers that have begun to arrive: they may have waited for another node's."""


class Exchange:
    """Questions that were sent to one node. Used by one thread.

    Attributes:
        answers: As many as questions, once it is over.
    """

    def __init__(self, node: SingleNode, questions: Sequence[Question]) -> None:
        self.node = node
        self.answers: list[Answer] = []
        self._questions = questions
        self._slot: Slot[Wire] | None = None

    def begin(self, deadline: float) -> None:
        """Send the questions. Blocks while a connection is made, or the node takes nothing in."""
        try:
            self._slot = slot = self.node.connections.take(deadline)
        except DurableStreamUnavailableError as exc:
            self._fail(exc, sent=False)
            return
        if time.monotonic() >= deadline:
            # Before the first byte: so it is known what became of it.
            self._slot = None
            self.node.connections.give_back(slot, keep=True)
            self._fail(DurableStreamUnavailableError(f"{self.node.name} was not asked in time"), sent=False)
            return
        try:
            commands = [question.commands for question in self._questions]
            wire_of(slot).send(b"".join((*commands, self._questions[0].then)), deadline)
        except (OSError, hiredis.ProtocolError) as exc:
            self._end(exc)

    @property
    def open(self) -> bool:
        """Whether answers are still to come."""
        return self._slot is not None

    def fileno(self) -> int:
        """Return the descriptor on which they come."""
        assert self._slot is not None
        return wire_of(self._slot).fileno()

    def finish(self, deadline: float) -> None:
        """Read the answers. Blocks."""
        slot = self._slot
        if slot is None:
            return
        wire = wire_of(slot)
        try:
            for question in self._questions[len(self.answers) :]:
                self.answers.append(wire.receive(question.replies, deadline))
            if self._questions[0].then:
                conclude(self.answers, wire.receive(1, deadline))
        except (OSError, hiredis.ProtocolError) as exc:
            self._end(exc)
        else:
            self._slot = None
            self.node.connections.give_back(slot, keep=True)

    def abandon(self) -> None:
        """Read no more. Idempotent."""
        slot, self._slot = self._slot, None
        if slot is not None:
            self.node.connections.give_back(slot, keep=False)

    def _end(self, exc: Exception) -> None:
        self.abandon()
        # Its other connections lead to the same silence, or to a server that is no longer the one it was.
        self.node.connections.renew()
        self._fail(self.node.explain(exc), sent=True)

    def _fail(self, error: DurableStreamUnavailableError, *, sent: bool) -> None:
        self.answers = unfinished(self._questions, self.answers, Trouble(error, sent))


def wire_of(slot: Slot[Wire]) -> Wire:
    """Return the connection that was lent."""
    assert slot.wire is not None
    return slot.wire


def perform(exchanges: Sequence[Exchange], deadline: float) -> None:
    """Send all questions, then read all answers. Blocks until ``deadline`` at most, and a little longer."""
    try:
        for at, exchange in enumerate(exchanges):
            # A node that takes nothing in must not use up the time of those after it.
            left, last = deadline - time.monotonic(), at == len(exchanges) - 1
            exchange.begin(deadline if last else deadline - left / 2)
        waiting = {exchange.fileno(): exchange for exchange in exchanges if exchange.open}
        while len(waiting) > 1 and (ready := _ready(waiting, deadline)):
            for fd in ready:
                waiting.pop(fd).finish(max(deadline, time.monotonic() + GRACE))
        patience = GRACE if len(waiting) == 1 else 0.0
        for exchange in waiting.values():
            exchange.finish(max(deadline, time.monotonic() + patience))
    finally:
        for exchange in exchanges:
            exchange.abandon()


def _ready(waiting: Iterable[int], deadline: float) -> list[int]:
    poll = select.poll()
    for fd in waiting:
        poll.register(fd, select.POLLIN)
    return [fd for fd, _ in poll.poll(max(0.0, (deadline - time.monotonic()) * 1000))]
