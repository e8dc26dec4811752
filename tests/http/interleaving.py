"""Readers of one topic that come, stall, vanish and come back, while its history is written, trimmed, sealed, replaced.

Whatever the order of it all, each reader sees exactly what follows its start; or a gap, and only where records were
lost.
"""

import asyncio
import json
import random
from dataclasses import dataclass, field

from tests.http.exchange import ASGI, Exchange
from tests.http.parser import Event
from tests.http.reader import path_of

from tailrace import Retention, aio
from tailrace.operations import Operations

TOPIC = "woven"


@dataclass
class Life:
    """One incarnation of the topic: its records are numbered from 0.

    Attributes:
        sent: How many appends were begun.
        stored: How many were acknowledged.
        trimmed: How many may be gone from its beginning.
        gone: How many are, for sure.
        sealed: Whether a seal was begun.
        deleted: Whether its end was begun.
    """

    sent: int = 0
    stored: int = 0
    trimmed: int = 0
    gone: int = 0
    sealed: bool = False
    deleted: bool = False


@dataclass
class Truth:
    """What the topic's history was, so far."""

    lives: list[Life] = field(default_factory=lambda: [Life()])

    @property
    def now(self) -> int:
        return len(self.lives) - 1


class Writer:
    """Writes the history."""

    def __init__(self, topic: aio.Topic, operations: Operations, truth: Truth, chance: random.Random) -> None:
        self._topic, self._operations, self._truth, self._chance = topic, operations, truth, chance

    async def write(self, steps: int) -> None:
        for _ in range(steps):
            await self._step()
        if self._truth.lives[-1].sealed:
            await self._replace()
        await self._append(1)
        self._truth.lives[-1].sealed = True
        await self._topic.seal()

    async def _step(self) -> None:
        life, chance = self._truth.lives[-1], self._chance
        action = chance.random()
        if action < 0.02 or life.sealed:
            await self._replace()
        elif action < 0.05 and life.stored:
            keep = chance.choice((1, 5, 50))
            life.trimmed = max(life.trimmed, life.stored - keep)
            await self._run(lambda: self._operations.trim(TOPIC, Retention(max_records=keep)))
            life.gone = life.trimmed
        elif action < 0.06 and life.stored:
            life.sealed = True
            await self._topic.seal()
        else:
            await self._append(chance.choice((1, 1, 1, 2, 7, 40)))
        if chance.random() < 0.5:
            await asyncio.sleep(chance.choice((0, 0.001, 0.003, 0.012)))

    async def _append(self, count: int) -> None:
        number, life = self._truth.now, self._truth.lives[-1]
        first, life.sent = life.sent, life.sent + count
        size = self._chance.choice((0, 0, 0, 3_000, 90_000))
        payloads = [json.dumps([number, first + index, "x" * size]).encode() for index in range(count)]
        await self._topic.append_many(payloads)
        life.stored = life.sent

    async def _replace(self) -> None:
        self._truth.lives[-1].deleted = True
        await self._run(lambda: self._operations.delete(TOPIC))
        self._truth.lives.append(Life())

    async def _run(self, work: object) -> None:
        await asyncio.get_running_loop().run_in_executor(None, work)  # type: ignore[arg-type]


class ReaderAt:
    """One reader over all of its connections, to the end of a life or a gap; then it begins anew.

    Attributes:
        ends: How its streams ended, for a look at what a seed does.
    """

    def __init__(self, application: ASGI, truth: Truth, chance: random.Random) -> None:
        self._application, self._truth, self._chance = application, truth, chance
        self._last_id: str | None = None
        self._wrong: AssertionError | None = None
        self.ends: list[str] = []
        self._anew()

    def _anew(self) -> None:
        """Know nothing: any life from now on, any record that is not gone for sure."""
        self._start = self._chance.choice(("beginning", "tail"))
        self._last_id = None
        self._life: int | None = None
        self._next = 0
        self._since = self._truth.now
        life = self._truth.lives[-1]
        self._least = life.gone if self._start == "beginning" else life.stored
        # Of what was retained when it came, nothing may be missing at the front.
        self._most: int | None = None
        self.finished = False

    async def read(self, *, to_the_end: asyncio.Event) -> None:
        """Come back again and again; when it is over, until the last life's end has been seen."""
        while not (to_the_end.is_set() and self.finished and self._life == self._truth.now):
            if self.finished:
                self._anew()
            await self._connection(patient=to_the_end.is_set())

    async def _connection(self, *, patient: bool) -> None:
        chance = self._chance
        slowness = chance.choice((0.0, 0.0, 0.002, 0.05))

        async def stall() -> None:
            if slowness:
                await asyncio.sleep(chance.random() * slowness * 2)
            if chance.random() < 0.02:
                await asyncio.sleep(0.3)

        eagerness = chance.choice((None, 0.0, 0.7, 1.0))
        takes = None if eagerness is None else lambda: chance.random() < eagerness
        exchange = Exchange(
            self._application, path_of(TOPIC, start=self._start), self._last_id, stall=stall, takes=takes
        )
        exchange.took = lambda body: self._take(exchange, body)
        running = asyncio.ensure_future(exchange.run())
        begun = asyncio.get_running_loop().time()
        try:
            # Not by wait_for: in Python 3.11 that may swallow a cancellation, and this reader would go on for ever.
            async with asyncio.timeout(20 if patient else chance.choice((0.0, 0.01, 0.1, 0.5, 2.0))):
                await asyncio.shield(running)
        except TimeoutError:
            assert not patient, f"a reader hangs at {self._life}:{self._next}, {self._truth.lives[-1]}"
        if running.done() and not self.finished and exchange.status == 200 and self._wrong is None:
            raise AssertionError(f"sent away for nothing after {exchange.times[-1] - begun:.3f} seconds")
        exchange.vanish()
        async with asyncio.timeout(20):
            await running
        if self._wrong is not None:
            raise self._wrong
        if exchange.status not in (None, 200):
            assert exchange.status == 204, exchange.bodies
            self.finished = True

    def _take(self, exchange: Exchange, body: bytes) -> None:
        if self._wrong is not None:
            return
        try:
            for event in exchange.parser.feed(body):
                self._see(event)
        except AssertionError as wrong:
            # Kept: what is raised here is raised into the application.
            self._wrong = wrong
            exchange.vanish()
        self._last_id = exchange.parser.last_id or self._last_id
        if self._most is None:
            # Primed: its start is fixed. Of the life in which it came: a slow reader is told of that when it is over.
            self._most = self._truth.lives[self._since].sent

    def _see(self, event: Event) -> None:
        assert not self.finished, f"{event.type} after the end"
        if event.type == "gap":
            self._check_gap()
        elif event.type == "end":
            self._check_end()
        else:
            life, number, _ = json.loads(event.payload)
            if self._life is None:
                self._check_first(life, number)
            else:
                assert (life, number) == (self._life, self._next), f"expected {self._life}:{self._next}"
            self._life, self._next = life, number + 1

    def _check_first(self, life: int, number: int) -> None:
        assert life >= self._since
        if life == self._since:
            assert number >= self._least, f"{self._start}: {number} was there before, {self._least} at the least"
        if self._start == "beginning":
            assert number <= self._truth.lives[life].trimmed
        else:
            assert self._most is not None
            assert number <= self._most or life > self._since

    def _check_gap(self) -> None:
        self.ends.append("gap")
        self.finished = True
        lives = self._truth.lives
        if self._life is None:
            # It stood before the first record that it would have seen, in any life since it came.
            assert any(life.deleted or life.trimmed > 0 for life in lives[self._since :])
        else:
            life = lives[self._life]
            assert life.deleted or life.trimmed > self._next, f"nothing was lost at {self._life}:{self._next}: {life}"

    def _check_end(self) -> None:
        self.ends.append("end")
        self.finished = True
        if self._life is None:
            self._life = max(n for n, life in enumerate(self._truth.lives) if life.sealed)
            return
        life = self._truth.lives[self._life]
        assert life.sealed
        assert self._next == life.sent, f"the end came at {self._next} of {life.sent}"
