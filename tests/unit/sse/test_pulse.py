"""Nobody is silent for longer than a heartbeat, nobody is asked for nothing, and nothing runs for nobody."""

import asyncio
import random
from collections.abc import Awaitable, Callable

import pytest
from typing_extensions import override

from tailrace.sse.pulse import NOTCHES, Beating, Pulse

HEARTBEAT = 14.0


class LeapingLoop(asyncio.SelectorEventLoop):
    """Its time stands still while something happens, and leaps to the next timer when nothing does."""

    leapt = 1_000.0

    @override
    def time(self) -> float:
        return self.leapt

    def _run_once(self) -> None:
        ahead = [timer.when() for timer in self._scheduled if not timer.cancelled()]  # type: ignore[attr-defined]
        if ahead and not self._ready:  # type: ignore[attr-defined]
            self.leapt = max(self.leapt, min(ahead))
        super()._run_once()  # type: ignore[misc]


def play(scene: Callable[[], Awaitable[None]]) -> None:
    with asyncio.Runner(loop_factory=LeapingLoop) as runner:
        runner.run(scene())  # type: ignore[arg-type]


class Silent(Beating):
    """Beats whenever it is asked."""

    def __init__(self, wait: float = HEARTBEAT) -> None:
        self.times = [asyncio.get_running_loop().time()]
        self._wait = wait

    @override
    def beat(self, now: float) -> float:
        self.times.append(now)
        return self._wait

    @property
    def silences(self) -> list[float]:
        return [later - earlier for earlier, later in zip(self.times, self.times[1:], strict=False)]


def test_each_is_asked_in_time_and_not_much_earlier() -> None:
    async def scene() -> None:
        pulse, chance, everybody = Pulse(HEARTBEAT), random.Random(1), []
        for _ in range(50):
            everybody.append(Silent())
            pulse.enter(everybody[-1])
            await asyncio.sleep(chance.random())
        await asyncio.sleep(10 * HEARTBEAT)
        for each in everybody:
            assert len(each.silences) >= 10
            for silence in each.silences:
                assert HEARTBEAT * (1 - 2 / NOTCHES) < silence <= HEARTBEAT + 1e-6
            pulse.leave(each)

    play(scene)


def test_who_says_when_is_asked_then() -> None:
    async def scene() -> None:
        pulse, soon, at_once = Pulse(HEARTBEAT), Silent(3.0), Silent(0.0)
        pulse.enter(soon)
        pulse.enter(at_once)
        await asyncio.sleep(5 * HEARTBEAT)
        assert max(soon.silences[1:]) <= 3.0 + 1e-6
        assert min(soon.silences[1:]) > 3.0 - 2 * HEARTBEAT / NOTCHES
        # The next moment is the soonest there is.
        assert min(at_once.silences) >= HEARTBEAT / NOTCHES - 1e-6
        pulse.leave(soon)
        pulse.leave(at_once)

    play(scene)


def test_a_loop_that_was_late_asks_everybody_it_has_missed() -> None:
    async def scene() -> None:
        pulse, each, loop = Pulse(HEARTBEAT), Silent(), asyncio.get_running_loop()
        pulse.enter(each)
        assert isinstance(loop, LeapingLoop)
        loop.leapt += 3 * HEARTBEAT
        await asyncio.sleep(0.001)
        assert len(each.silences) == 1
        await asyncio.sleep(HEARTBEAT)
        assert len(each.silences) == 2
        pulse.leave(each)

    play(scene)


def test_who_left_is_not_asked_and_no_timer_is_left_behind() -> None:
    async def scene() -> None:
        pulse, gone, there = Pulse(HEARTBEAT), Silent(), Silent()
        pulse.enter(gone)
        pulse.enter(there)
        pulse.leave(gone)
        await asyncio.sleep(2 * HEARTBEAT)
        assert gone.silences == []
        assert there.silences
        pulse.leave(there)
        assert (pulse._due, pulse._moments, pulse._timer) == ({}, {}, None)
        # It begins anew, however long it rested.
        await asyncio.sleep(100 * HEARTBEAT)
        back = Silent()
        pulse.enter(back)
        await asyncio.sleep(HEARTBEAT)
        assert len(back.silences) == 1
        pulse.leave(back)

    play(scene)


def test_one_that_fails_is_asked_again_and_so_are_the_others(caplog: pytest.LogCaptureFixture) -> None:
    class Failing(Silent):
        @override
        def beat(self, now: float) -> float:
            super().beat(now)
            raise ZeroDivisionError

    async def scene() -> None:
        pulse, failing, there = Pulse(HEARTBEAT), Failing(), Silent()
        pulse.enter(failing)
        pulse.enter(there)
        await asyncio.sleep(3 * HEARTBEAT)
        assert len(failing.silences) == len(there.silences) == 3
        pulse.leave(failing)
        pulse.leave(there)

    play(scene)
    assert "ZeroDivisionError" in caplog.text
