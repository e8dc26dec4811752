"""Readers look in turns; what comes in between is seen by those who are left, and nobody is looked at in vain."""

import asyncio
from typing import Any

from typing_extensions import override

from tailrace.sse.rounds import TURN, Line, Rounds, Sleeper

MANY = 1000
"""Turns of the loop, many more than anything here takes."""


class Looking(Sleeper):
    """Notes what is new each time it looks, and rests again."""

    def __init__(self, line: Line, board: list[int]) -> None:
        self._board = board
        self.seen: list[int] = []
        line.enter(self)

    @override
    def look(self) -> bool:
        self.seen.append(self._board[-1])
        return True


async def _all_looked(*lines: Line) -> int:
    """Return after how many turns of the loop."""
    turns = 0
    while any(line.busy_since is not None for line in lines):
        await asyncio.sleep(0)
        turns += 1
        assert turns < MANY, "they go on and on"
    return turns


def test_everybody_looks_once_and_some_in_each_turn() -> None:
    async def scene() -> None:
        line = Line(Rounds())
        readers = [Looking(line, [1]) for _ in range(3 * TURN + 1)]
        line.call()
        most = before = 0
        for _ in range(MANY):
            if line.busy_since is None:
                break
            await asyncio.sleep(0)
            looked = sum(len(reader.seen) for reader in readers)
            most, before = max(most, looked - before), looked
        assert most == TURN
        assert {tuple(reader.seen) for reader in readers} == {(1,)}

    asyncio.run(scene())


def test_who_has_not_looked_yet_sees_two_events_at_once() -> None:
    async def scene() -> None:
        line, board = Line(Rounds()), [1]
        readers = [Looking(line, board) for _ in range(4 * TURN)]
        line.call()
        for _ in range(MANY):
            if readers[TURN - 1].seen:
                break
            await asyncio.sleep(0)
        board.append(2)
        line.call()
        await _all_looked(line)
        assert {tuple(reader.seen) for reader in readers[:TURN]} == {(1, 2)}
        assert {tuple(reader.seen) for reader in readers[TURN:]} == {(2,)}

    asyncio.run(scene())


def test_the_few_readers_of_one_topic_do_not_wait_for_the_many_of_another() -> None:
    async def scene() -> None:
        rounds = Rounds()
        many, few = Line(rounds), Line(rounds)
        crowd = [Looking(many, [1]) for _ in range(20 * TURN)]
        reader = Looking(few, [1])
        many.call()
        few.call()
        assert await _all_looked(few) <= 3
        assert not crowd[-1].seen
        await _all_looked(many)
        assert crowd[-1].seen == reader.seen == [1]

    asyncio.run(scene())


def test_who_left_is_not_called_and_nobody_is_without_a_reader() -> None:
    async def scene() -> None:
        line = Line(Rounds())
        line.call()
        assert line.busy_since is None
        gone, there = Looking(line, [1]), Looking(line, [1])
        line.leave(gone)
        line.leave(gone)
        line.call()
        await _all_looked(line)
        assert (gone.seen, there.seen) == ([], [1])

    asyncio.run(scene())


def test_a_reader_that_fails_keeps_nobody_from_looking() -> None:
    class Failing(Sleeper):
        @override
        def look(self) -> bool:
            raise ZeroDivisionError

    async def scene() -> None:
        failures: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))
        line = Line(Rounds())
        first = Looking(line, [1])
        line.enter(Failing())
        last = Looking(line, [1])
        for _ in range(2):
            line.call()
            await _all_looked(line)
        assert (first.seen, last.seen) == ([1, 1], [1, 1])
        assert [type(failure["exception"]) for failure in failures] == [ZeroDivisionError]

    asyncio.run(scene())
