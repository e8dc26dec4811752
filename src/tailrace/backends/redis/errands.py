"""A question on its way through a cluster. Pure."""

from dataclasses import dataclass, replace

from tailrace.backends.redis.nodes import Answer, Question, Trouble
from tailrace.backends.redis.resp import pack
from tailrace.backends.redis.slots import Address, with_asking
from tailrace.errors import DurableStreamUnavailableError

HOPS = 8
"""How often one question follows a redirection."""

PAUSES = (0.005, 0.01, 0.02, 0.04, 0.08, 0.16)
"""Seconds between tries to reach a topic whose keys are being moved right now, one after the other."""


@dataclass(slots=True, frozen=True)
class Errand:
    """One question, and where it goes next.

    Attributes:
        at: Its place among the questions.
        to: Whom it goes to; ``None`` while nobody serves its slot.
        asking: Whether it goes there by way of ASK.
        hops: How often it has followed a redirection.
        tries: How often it was put off because its keys were being moved.
    """

    at: int
    question: Question
    to: Address | None
    asking: bool = False
    hops: int = 0
    tries: int = 0

    def as_sent(self) -> Question:
        """Return the question as the node is asked it."""
        question = self.question
        if not self.asking:
            return question
        return question._replace(commands=with_asking(question.commands), replies=2 * question.replies)

    def on(self, to: Address | None, *, asking: bool = False) -> "Errand | None":
        """Return how it goes on from a redirection; ``None`` if it has gone round long enough."""
        return replace(self, to=to, asking=asking, hops=self.hops + 1) if self.hops < HOPS else None

    def put_off(self, to: Address | None) -> "Errand | None":
        """Return how it is tried again after a pause; ``None`` if it has been often enough."""
        return replace(self, to=to, asking=False, tries=self.tries + 1) if self.tries < len(PAUSES) else None

    def final(self, answer: Answer, name: str) -> Answer:
        """Return the answer to the question, from that to what was sent last."""
        if isinstance(answer, Trouble):
            return answer
        if self.asking:
            # Every other reply is that to ASKING, up to what was asked after all questions.
            both = 2 * self.question.replies
            answer = answer[1:both:2] + answer[both:]
        if any(says(reply, "ASK", "MOVED", "TRYAGAIN") for reply in answer):
            # What writes is one command, which was not done; of what reads, nothing is known.
            return Trouble(DurableStreamUnavailableError(f"{name} is moving this topic to another node"), sent=False)
        return answer


def hint(channel: bytes) -> Question:
    """Return what tells those who listen at the node that has the channel's slot."""
    return Question(channel, pack((b"SPUBLISH", channel, b"")), 1)


def says(reply: object, *codes: str) -> bool:
    """Return whether a reply is an error that begins with one of the codes."""
    return isinstance(reply, Exception) and str(reply).partition(" ")[0] in codes
