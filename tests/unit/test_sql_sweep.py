"""How a sweep goes through its tasks where one topic fails: in vain for that one, and for no other."""

from collections.abc import Sequence

import pytest

from tailrace import DurableStreamUnavailableError, Retention, spi
from tailrace.backends.sql.cuts import Cut
from tailrace.backends.sql.ground import Candidate, Ground, Key
from tailrace.backends.sql.sweep import Sweeper
from tailrace.options import StoreOptions

OPTIONS = StoreOptions(retention=Retention(max_age=60), forget_after=60)


class Fields(Ground):
    """Topics 1 to 3 have something to be cut, to be forgotten, and to be reclaimed; one of them fails."""

    def __init__(self, broken: str) -> None:
        self.broken = broken
        self.done: set[str] = set()

    def stamp(self, ago: float) -> int:
        return 1000

    def aged(self, before: int, after: Key) -> Sequence[Candidate]:
        return self._after("cut", after[1])

    def overfull(self, records: int, size: int, after: Key) -> Sequence[Candidate]:
        return ()

    def idle(self, before: int, after: Key) -> Sequence[Candidate]:
        return self._after("forget", after[1])

    def cut(self, candidate: Candidate, keep: Retention, oldest: int, room: int) -> Cut | None:
        self._do(f"cut {candidate.id}")
        return Cut(1, 1)

    def forget(self, candidate: Candidate, before: int) -> bool | None:
        self._do(f"forget {candidate.id}")
        return True

    def next_remains(self, after: int) -> int | None:
        return next((found.id for found in self._after("reclaim", after)), None)

    def reclaim(self, topic_id: int, room: int) -> int:
        self._do(f"reclaim {topic_id}")
        return 0

    def expire(self, before: int) -> int:
        self._do("expire")
        return 0

    def _after(self, task: str, last: int) -> Sequence[Candidate]:
        left = [number for number in (1, 2, 3) if number > last and f"{task} {number}" not in self.done]
        return [Candidate(1, number, f"t{number}", 1, 1) for number in left]

    def _do(self, what: str) -> None:
        if what == self.broken:
            raise DurableStreamUnavailableError("it takes too long, each time")
        self.done.add(what)


ALL = {f"{task} {number}" for task in ("cut", "forget", "reclaim") for number in (1, 2, 3)} | {"expire"}


@pytest.mark.parametrize("broken", ["cut 1", "cut 2", "forget 1", "reclaim 1", "reclaim 2"])
def test_a_topic_that_fails_each_time_keeps_no_other_and_no_other_task_from_its_turn(broken: str) -> None:
    ground = Fields(broken)
    sweeper = Sweeper(ground, OPTIONS)
    failed = 0
    for _ in range(6):
        try:
            sweeper.sweep(spi.SweepBudget())
        except DurableStreamUnavailableError:
            failed += 1
    assert ground.done == ALL - {broken}
    # It is tried again and again, and told each time.
    assert failed > 1
    ground.broken = ""
    for _ in range(3):
        sweeper.sweep(spi.SweepBudget())
    assert ground.done == ALL
