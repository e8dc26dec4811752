"""A cluster: each question goes to the node that has its slot, and follows when the slot has moved.

A node that is away costs its own topics an answer and nobody else's. What a node answers with MOVED, ASK or TRYAGAIN it
certainly did not do, so it is asked again; what may have been done is not.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Sequence

from tailrace.backends.redis.atlas import Atlas
from tailrace.backends.redis.errands import PAUSES, Errand, hint, says
from tailrace.backends.redis.exchange import Exchange, perform
from tailrace.backends.redis.nodes import PIPELINED, Answer, Nodes, Question, Trouble
from tailrace.backends.redis.slots import Address, Redirect, all_are_asked, redirect, slot_of
from tailrace.backends.redis.wire import Wire
from tailrace.errors import DurableStreamUnavailableError

SHARDED_SINCE = (7,)
"""From this release on all nodes can tell hints to those only who listen where the topic is."""


class Cluster(Nodes):
    """All primaries of a cluster. Thread-safe."""

    era = 0
    database = 0

    def __init__(self, atlas: Atlas) -> None:
        self._atlas = atlas
        self.name = atlas.name
        self.sharded = False

    def greet(self, timeout: float) -> str:
        deadline = time.monotonic() + timeout
        self._atlas.refresh(deadline)
        met = []
        trouble: DurableStreamUnavailableError | None = None
        for address in self._atlas.primaries():
            try:
                met.append(self._atlas.node(address).hello(max(0.001, deadline - time.monotonic())))
            except DurableStreamUnavailableError as exc:
                trouble = exc
        if not met:
            raise trouble or DurableStreamUnavailableError(f"{self.name} has no primary")
        # A node that is away now is taken to be like the others: all processes have to come to the same decision.
        self.sharded = all(hello.version >= SHARDED_SINCE for hello in met)
        return f"{met[0].product} Cluster"

    def ask_one(self, question: Question, timeout: float) -> Answer:
        return self.ask((question,), timeout)[0]

    def ask(self, questions: Sequence[Question], timeout: float) -> Sequence[Answer]:
        deadline = time.monotonic() + timeout
        self._atlas.refresh_if_stale(deadline)
        answers: dict[int, Answer] = {}
        errands = [Errand(at, question, self._owner(question)) for at, question in enumerate(questions)]
        while errands:
            errands = self._round(errands, answers, deadline)
        return [answers[at] for at in range(len(questions))]

    def ask_everywhere(self, commands: bytes, node: int, timeout: float) -> tuple[Answer, bool]:
        deadline = time.monotonic() + timeout
        if node == 0:
            self._atlas.refresh_if_stale(deadline)
        addresses = self._atlas.primaries()
        if node >= len(addresses):
            return Trouble(DurableStreamUnavailableError(f"{self.name} has changed meanwhile"), sent=False), False
        answer = self._atlas.node(addresses[node]).ask_one(Question(b"", commands, 1), timeout)
        if isinstance(answer, Trouble):
            self._atlas.doubt()
        return answer, node + 1 < len(addresses)

    def dial(self, timeout: float) -> Wire:
        return self._atlas.dial_any(time.monotonic() + timeout)

    def home_of(self, channel: bytes) -> Address | None:
        """Return the node that tells hints of a channel; ``None`` while nobody serves its slot."""
        return self._atlas.owner(slot_of(channel))

    def dial_home(self, address: Address, timeout: float) -> Wire:
        """Open a connection for the watch to one node."""
        return self._atlas.node(address).dial(timeout)

    def learn(self, error: Exception, asked: Address) -> None:
        """Note what a node has said of a slot that is another's: an error that begins with MOVED."""
        moved = redirect(error, asked, self._atlas.remap)
        if moved is not None and not moved.asking:
            self._atlas.moved(moved.slot, moved.address)

    def doubt(self) -> None:
        """Look again who serves what, before the next question."""
        self._atlas.doubt()

    def refresh(self, timeout: float) -> None:
        """Look again who serves what, if that is in doubt and was not looked at within the last second."""
        self._atlas.refresh_if_stale(time.monotonic() + timeout)

    def close(self) -> None:
        self._atlas.close()

    def _owner(self, question: Question) -> Address | None:
        return self._atlas.owner(slot_of(question.key)) if question.key else self._atlas.any()

    def _round(self, errands: Iterable[Errand], answers: dict[int, Answer], deadline: float) -> list[Errand]:
        """Send what can be sent at once; return what is still to be sent."""
        parcels: defaultdict[Address, list[Errand]] = defaultdict(list)
        later: list[Errand] = []
        for errand in errands:
            if errand.to is None:
                self._atlas.doubt()
                error = DurableStreamUnavailableError(f"{self.name} has no node for this topic at the moment")
                answers[errand.at] = Trouble(error, sent=False)
            elif len(parcels[errand.to]) < PIPELINED:
                parcels[errand.to].append(errand)
            else:
                later.append(errand)
        exchanges = [
            Exchange(self._atlas.node(address), [errand.as_sent() for errand in parcel])
            for address, parcel in parcels.items()
        ]
        perform(exchanges, deadline)
        put_off: list[Errand] = []
        told: list[Question] = []
        for (address, parcel), exchange in zip(parcels.items(), exchanges, strict=True):
            for errand, answer in zip(parcel, exchange.answers, strict=True):
                again = self._after(errand, answer, address, deadline)
                if again is None:
                    answers[errand.at] = errand.final(answer, self.name)
                    if errand.asking and errand.question.channel and self.sharded and not isinstance(answer, Trouble):
                        told.append(hint(errand.question.channel))
                elif again.tries > errand.tries:
                    put_off.append(again)
                else:
                    later.append(again)
        if told:
            self._tell(told, deadline)
        if put_off:
            time.sleep(PAUSES[max(errand.tries for errand in put_off) - 1])
        return later + put_off

    def _after(self, errand: Errand, answer: Answer, asked: Address, deadline: float) -> Errand | None:
        """Return how a question goes on; ``None`` if that was its answer."""
        if isinstance(answer, Trouble):
            self._atlas.doubt()
            if answer.sent:
                return None
            # Certainly not done: whoever has taken over may be asked.
            self._atlas.refresh_if_stale(deadline)
            owner = self._owner(errand.question)
            return None if owner in (asked, None) else errand.on(owner)
        errors = [reply for reply in answer if isinstance(reply, Exception)]
        if not errors:
            return None
        ways = [way for way in (redirect(error, asked, self._atlas.remap) for error in errors) if way is not None]
        if ways:
            return self._follow(errand, answer, ways)
        if any(says(error, "TRYAGAIN") for error in errors):
            return errand.put_off(self._owner(errand.question))
        if any(says(error, "CLUSTERDOWN") for error in errors):
            self._atlas.doubt()
        return None

    def _follow(self, errand: Errand, answer: Sequence[object], ways: Sequence[Redirect]) -> Errand | None:
        for way in ways:
            if not way.asking:
                self._atlas.moved(way.slot, way.address)
                return errand.on(way.address)
        if all_are_asked(errand.question.commands, answer):
            return errand.on(ways[0].address, asking=True)
        # Of two keys, one is here and one is there, and either node would take the other one for missing.
        return errand.put_off(self._owner(errand.question))

    def _tell(self, told: Sequence[Question], deadline: float) -> None:
        # Done by the node that the slot is moving to. Who is to hear of it still listens at the one it moves from.
        parcels: defaultdict[Address, list[Question]] = defaultdict(list)
        for question in told:
            owner = self._owner(question)
            if owner is not None:
                parcels[owner].append(question)
        perform([Exchange(self._atlas.node(address), parcel) for address, parcel in parcels.items()], deadline)
