"""The primary that sentinels name: looked up for each connection, and again when anything speaks against it."""

import time
from collections.abc import Iterator, Sequence

from tailrace.backends.redis.errors import explain
from tailrace.backends.redis.hello import ASK_ROLE, read_role
from tailrace.backends.redis.location import Location
from tailrace.backends.redis.nodes import Answer, Nodes, Question, SingleNode, Trouble
from tailrace.backends.redis.reaching import Reach
from tailrace.backends.redis.resp import pack
from tailrace.backends.redis.several import SentinelPlaces
from tailrace.backends.redis.slots import Address
from tailrace.backends.redis.wire import Wire
from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError

EVERY = 5.0
"""Seconds between two looks while nothing goes wrong: a primary that is cut off from everybody but us looks well."""

PATIENCE = 2.0
"""Seconds that one sentinel has to answer."""


class Primary(Nodes):
    """One service of some sentinels. Thread-safe."""

    sharded = False

    def __init__(self, places: SentinelPlaces) -> None:
        self._template = places.template
        self._service = places.service
        # The one that answered last is the first to be asked.
        self._sentinels: Sequence[Sentinel] = [Sentinel(location, places.service) for location in places.sentinels]
        self.name = f"the primary of {places.service}"
        self.era = 0
        self.database = places.template.database
        self._address: Address | None = None
        self._reach: Reach | None = None
        self._looked = time.monotonic()
        self._node = SingleNode(self.name, self._dial, self.database)

    def greet(self, timeout: float) -> str:
        return f"{self._node.greet(timeout)} behind Sentinel"

    def ask_one(self, question: Question, timeout: float) -> Answer:
        return self.ask((question,), timeout)[0]

    def ask(self, questions: Sequence[Question], timeout: float) -> Sequence[Answer]:
        deadline = time.monotonic() + timeout
        self.check()
        answers = self._node.ask(questions, timeout)
        if not any(_doubtful(answer) for answer in answers):
            return answers
        self._node.connections.renew()
        # A replica did not do it, so it may be asked for once more, from whoever is the primary now.
        again = [at for at, answer in enumerate(answers) if _answered_by_replica(answer)]
        if again:
            left = max(0.001, deadline - time.monotonic())
            answers = list(answers)
            for at, answer in zip(again, self._node.ask([questions[at] for at in again], left), strict=True):
                answers[at] = answer
        return answers

    def ask_everywhere(self, commands: bytes, node: int, timeout: float) -> tuple[Answer, bool]:
        return self.ask_one(Question(b"", commands, 1), timeout), False

    def dial(self, timeout: float) -> Wire:
        return self._node.dial(timeout)

    def close(self) -> None:
        self._node.close()

    def check(self) -> None:
        """Look whether the sentinels still name the same one, if nobody has lately. Never raises."""
        now = time.monotonic()
        if now - self._looked < EVERY:
            return
        # One thread looks, the others go on meanwhile.
        self._looked = now
        for address in self._named(now + PATIENCE):
            self._settle_on(address)
            return

    def _dial(self, timeout: float) -> Wire:
        deadline = time.monotonic() + timeout
        trouble: DurableStreamUnavailableError | None = None
        for address in self._named(deadline):
            reach = self._settle_on(address)
            try:
                wire = reach.dial(max(0.001, deadline - time.monotonic()))
            except DurableStreamUnavailableError as exc:
                trouble = exc
                continue
            # A sentinel that was cut off names the former one.
            if self._is_primary(wire, deadline):
                return wire
            wire.close()
            trouble = DurableStreamUnavailableError(f"{self.name} is being replaced")
        raise trouble or self._unknown()

    def _named(self, deadline: float) -> Iterator[Address]:
        """Yield whom the sentinels name, each address once."""
        named: set[Address] = set()
        for sentinel in tuple(self._sentinels):
            left = min(PATIENCE, deadline - time.monotonic())
            if left <= 0:
                return
            address = sentinel.ask(left)
            if address is not None and address not in named:
                named.add(address)
                self._sentinels = sorted(self._sentinels, key=lambda other: other is not sentinel)
                yield address

    def _settle_on(self, address: Address) -> Reach:
        reach = self._reach
        if reach is None or self._address != address:
            reach = Reach(self._template.at(address))
            first, self._address, self._reach = self._address is None, address, reach
            if not first:
                self.era += 1
                # Whatever is connected to the former one is asked nothing more.
                self._node.connections.renew()
        return reach

    def _is_primary(self, wire: Wire, deadline: float) -> bool:
        try:
            wire.send(ASK_ROLE, deadline)
            (reply,) = wire.receive(1, deadline)
        except OSError:
            return False
        return read_role(reply) in ("master", "")

    def _unknown(self) -> DurableStreamUnavailableError:
        troubles = [sentinel.trouble for sentinel in self._sentinels if sentinel.trouble is not None]
        for trouble in troubles:
            if not isinstance(trouble, StoreUnusableError):
                return trouble
        return troubles[0] if troubles else DurableStreamUnavailableError(f"no sentinel names {self.name} in time")


class Sentinel:
    """One sentinel, which is asked over a connection of its own each time: that is seldom.

    Attributes:
        trouble: Why it did not name anybody when it was asked last.
    """

    def __init__(self, location: Location, service: str) -> None:
        self._name = location.name.replace("Redis", "Sentinel", 1)
        self._reach = Reach(location)
        self._service = service
        self._question = pack((b"SENTINEL", b"GET-MASTER-ADDR-BY-NAME", service.encode()))
        self.trouble: DurableStreamUnavailableError | None = None

    def ask(self, timeout: float) -> Address | None:
        """Return whom it names; ``None`` if it does not answer, or knows of nobody. Never raises."""
        deadline = time.monotonic() + timeout
        self.trouble = None
        try:
            wire = self._reach.dial(timeout)
            try:
                wire.send(self._question, deadline)
                (reply,) = wire.receive(1, deadline)
            finally:
                wire.close()
        except DurableStreamUnavailableError as exc:
            self.trouble = exc
            return None
        except OSError as exc:
            self.trouble = explain(exc, self._name)
            return None
        if isinstance(reply, list):
            host, port = reply
            return host.decode(), int(port)
        self.trouble = self._refusal(reply)
        return None

    def _refusal(self, reply: object) -> DurableStreamUnavailableError:
        if not isinstance(reply, Exception):
            return StoreUnusableError(f"{self._name} watches no service called {self._service}: change the URL")
        if "unknown command" in str(reply):
            return StoreUnusableError(f"{self._name} is a server, not a sentinel: connect with redis://")
        return explain(reply, self._name)


def _doubtful(answer: Answer) -> bool:
    return isinstance(answer, Trouble) or _answered_by_replica(answer)


def _answered_by_replica(answer: Answer) -> bool:
    return not isinstance(answer, Trouble) and any(
        isinstance(reply, Exception) and "READONLY" in str(reply) for reply in answer
    )
