"""What happens in one history, apart from who runs when: drawn from a seed, small enough to read and to shrink."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tailrace.options import EngineOptions, StoreOptions
from tailrace.retention import Retention

Hints = Literal["exact", "late", "unsure", "lost"]


@dataclass(frozen=True)
class Op:
    """One thing that an actor does, ``delay`` seconds after the one before."""

    delay: float
    kind: str
    args: tuple[Any, ...] = ()

    def __str__(self) -> str:
        return f"+{self.delay:g}s {self.kind}{self.args or ''}"


@dataclass(frozen=True)
class Actor:
    """One thread and what it does, in order."""

    name: str
    ops: tuple[Op, ...]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything about a history that is not the schedule.

    Attributes:
        local: Whether readers pull pages themselves; otherwise workers do.
        hints: ``late``: up to a second; ``unsure``: some are lost and the watch says so; ``lost``: and it does not.
        latencies: Seconds that the calls of the store take, in turn.
        mean_gap: For the schedule: points between two preemptions, on average.
    """

    seed: int
    topics: tuple[str, ...]
    engine: EngineOptions
    store: StoreOptions
    local: bool
    hints: Hints
    latencies: tuple[float, ...]
    mean_gap: float
    actors: tuple[Actor, ...]

    @property
    def operations(self) -> int:
        """How many operations there are."""
        return sum(len(actor.ops) for actor in self.actors)

    def __str__(self) -> str:
        head = (
            f"seed {self.seed}: hints {self.hints}, {'local' if self.local else 'remote'}, latencies {self.latencies}, "
            f"{self.engine}, {self.store.retention}"
        )
        return "\n".join([head, *(f"  {actor.name}: {'; '.join(map(str, actor.ops))}" for actor in self.actors)])


def draw(seed: int) -> Plan:
    """Return the plan of a seed."""
    draw_ = _Draw(seed)
    return draw_.plan(seed)


class _Draw:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.pick = self.random.choice
        self.topics: tuple[str, ...] = ()
        self.readers = 0
        self.pace = 0.1

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def plan(self, seed: int) -> Plan:
        pick = self.pick
        self.topics = ("a", "b", "c")[: pick((1, 1, 1, 2, 3))]
        self.pace = pick((0.0, 0.01, 0.1, 0.1, 1.0))
        self.readers = pick((1, 2, 2, 3, 4))
        troubled = self.chance(0.6)
        operated = self.chance(0.7)
        from_afar = self.chance(0.25)
        write = self.peer if from_afar else self.writer
        actors = [Actor(f"writer{n}", write()) for n in range(pick((1, 1, 2, 3, 5)))]
        actors += [Actor(f"reader{n}", self.reader()) for n in range(self.readers)]
        if self.chance(0.15):
            actors.append(Actor("restorer", self.restorer()))
        if operated:
            actors += [Actor(f"operator{n}", self.operator()) for n in range(pick((1, 1, 2)))]
        if self.chance(0.4):
            actors.append(Actor("peer", self.peer()))
        if troubled:
            actors.append(Actor("trouble", self.trouble()))
        if self.chance(0.15):
            actors.append(Actor("shutdown", (Op(self.random.random() * 3 * self.pace * 10, "close client"),)))
        return Plan(
            seed=seed,
            topics=self.topics,
            engine=EngineOptions(
                append_timeout=pick((3.0, 5.0)),
                outage_budget=pick((0, 1.0, 3.0, 3.0)),
                buffer_records=pick((1, 2, 4, 2048)),
                buffer_bytes=pick((8, 4 * 2**20)),
                page_records=pick((1, 2, 3, 512)),
                page_bytes=pick((8, 2**20)),
                batch_records=pick((1, 2, 4, 1024)),
                poll_unsure=1.0,
                poll_healthy=10.0,
            ),
            store=StoreOptions(retention=Retention(max_records=pick((None, None, None, 2, 5)))),
            hints=pick(("exact", "exact", "exact", "late", "unsure", "lost")),
            latencies=pick(((0.0,), (0.001,), (0.0, 0.002, 0.0, 0.03), (0.01, 0.05), (0.0, 0.0, 0.2))),
            mean_gap=pick((4.0, 15.0, 60.0, 200.0, 1000.0)),
            actors=tuple(actors),
            local=pick((True, False, False)),
        )

    def topic(self) -> str:
        return self.pick(self.topics)

    def wait(self) -> float:
        draw = self.random.random()
        if draw < 0.07:
            # Long enough for everybody to fall asleep: whoever missed the last wake-up is found out.
            return 4.0
        return 0.0 if draw < 0.4 else round(self.random.random() * 2 * self.pace, 4)

    def writer(self) -> tuple[Op, ...]:
        ops = []
        for _ in range(self.pick((1, 3, 5, 8))):
            kind = self.random.random()
            if kind < 0.6:
                op = Op(self.wait(), "append", (self.topic(),))
            elif kind < 0.75:
                op = Op(self.wait(), "append many", (self.topic(), self.pick((2, 3, 6))))
            elif kind < 0.85:
                op = Op(self.wait(), "submit", (self.topic(),))
            elif kind < 0.97:
                op = Op(
                    self.wait(),
                    "append interrupted",
                    (self.topic(), self.pick((3, 10, 25, 40, 60, 90)) + self.pick(range(20))),
                )
            else:
                op = Op(self.wait(), "seal", (self.topic(), self.pick((None, "broken"))))
            ops.append(op)
        return tuple(ops)

    def peer(self) -> tuple[Op, ...]:
        """Another process: this client hears of its records only from the store."""
        appends = range(self.pick((2, 4, 6, 10)))
        return tuple(Op(self.wait(), "peer append", (self.topic(), self.pick((1, 1, 2, 4)))) for _ in appends)

    def restorer(self) -> tuple[Op, ...]:
        """Goes back to an older state again and again, and grows another way."""
        ops = [Op(self.wait(), "backup")]
        for _ in range(self.pick((1, 2, 3))):
            ops += [
                Op(self.wait(), "peer append", (self.topic(), self.pick((1, 2, 3)))),
                Op(self.wait(), "restore"),
                Op(self.wait(), "peer append", (self.topic(), self.pick((1, 2, 3)))),
                Op(self.wait(), "restore" if self.chance(0.3) else "backup"),
            ]
        return tuple(ops)

    def reader(self) -> tuple[Op, ...]:
        ops: list[Op] = []
        for _ in range(self.pick((1, 1, 2, 3))):
            how = self.pick(("beginning", "beginning", "tail", "cursor", "cursor", "checkpoint"))
            ops.append(Op(self.wait(), f"subscribe from {how}", (self.topic(), self.random.randrange(100))))
            ops.append(Op(self.wait() if self.chance(0.3) else 0.0, "enter"))
            for _ in range(self.pick((0, 1, 2, 4))):
                timeout = self.pick((0.0, 0.0, 0.05, 0.3, 4.0, 14.0))
                slow = self.wait() if self.chance(0.5) else 0.0
                ops.append(Op(slow, "receive", (self.pick((1, 1, 2, 5)), timeout)))
                if self.chance(0.08):
                    ops.append(Op(0.0, "pull abandoned"))
                if self.chance(0.15):
                    ops.append(Op(0.0, "keep cursor"))
            if self.chance(0.3):
                ops.append(Op(self.wait(), "close"))
        return tuple(ops)

    def operator(self) -> tuple[Op, ...]:
        ops: list[Op] = []
        backed_up = False
        for _ in range(self.pick((1, 2, 4, 6))):
            topic, kind = self.topic(), self.random.random()
            if kind < 0.25:
                op = Op(self.wait(), "trim", (topic, self.pick((0, 1, 2, 4))))
            elif kind < 0.4:
                op = Op(self.wait(), "delete", (topic,))
            elif kind < 0.6:
                op = Op(self.wait(), "restore" if backed_up else "backup")
                backed_up = True
            elif kind < 0.7:
                op = Op(self.wait(), "seal", (topic, self.pick((None, "broken"))))
            elif kind < 0.85:
                op = Op(self.wait(), "peer append", (topic, self.pick((1, 2, 3))))
            else:
                op = Op(self.wait(), "close reader", (self.random.randrange(self.readers),))
            ops.append(op)
        return tuple(ops)

    def trouble(self) -> tuple[Op, ...]:
        ops = []
        for _ in range(self.pick((1, 2, 3))):
            kind = self.random.random()
            if kind < 0.35:
                what = self.pick(("reads", "reads", "appends", "watch", "everything"))
                how = self.pick(("away", "away", "each", "foreign"))
                ops.append(Op(self.wait(), "outage", (what, how, self.pick((0.05, 0.4, 0.9, 2.0, 5.0)))))
            elif kind < 0.7:
                ops.append(Op(self.wait(), "append fault", (self.pick(APPEND_FAULTS),)))
            elif kind < 0.8:
                ops.append(Op(self.wait(), "lock", (self.topic(), self.pick((0.01, 0.4, 2.0, 6.0)))))
            elif kind < 0.9:
                ops.append(Op(self.wait(), "watch breaks"))
            elif kind < 0.95:
                ops.append(Op(self.wait(), "read interrupted"))
            else:
                ops.append(Op(self.wait(), "anything may have moved"))
        return tuple(ops)


APPEND_FAULTS: Sequence[str] = (
    "refused",
    "request lost",
    "reply lost",
    "foreign",
    "foreign, stored",
    "interrupted",
    "interrupted, stored",
    "mixed",
    "slow",
    "stuck",
)
