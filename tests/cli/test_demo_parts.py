"""The demo's pure parts: nothing of a text is changed, kills are reproducible, and the judge can be displeased."""

from pathlib import Path

import pytest

from tailrace.cli.demo import plan, text, verdict
from tailrace.cli.demo.deliveries import Deliveries, DeliveryLog, Life
from tailrace.cli.demo.stage import Stage


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b" ",
        b"one",
        b"  two words\n\n\tand tabs \r\n",
        "é ü\u2028x\u00a0y".encode(),
        bytes(range(256)),
        b"a b " * 30000,
    ],
)
def test_a_text_comes_back_byte_for_byte(content: bytes) -> None:
    events = text.events(content)
    taken_apart = [text.number_and_text(event) for event in events]
    assert b"".join(part for _number, part in taken_apart) == content
    assert [number for number, _part in taken_apart] == list(range(len(events)))
    assert len(events) <= text.MOST_EVENTS + 2


@pytest.mark.parametrize("total", [2, 3, 12, 5000])
def test_kills_come_in_order_before_the_part_that_is_held_back(total: int) -> None:
    points = [kill.after for kill in plan.kills(7, 5, total)]
    assert len(points) == 5
    assert points == sorted(points)
    assert points[-1] <= text.held_back(total) < total


def test_the_same_seed_kills_at_the_same_points() -> None:
    assert plan.kills(7, 5, 1000) == plan.kills(7, 5, 1000) != plan.kills(8, 5, 1000)


def test_an_undone_delivery_is_no_duplicate_and_a_kept_one_is() -> None:
    assert verdict.in_result([Life(0, [0, 1, 2]), Life(1, [1, 2, 3])]) == [0, 1, 2, 3]
    assert verdict.in_result([Life(0, [0, 1, 2]), Life(3, [2, 3])]) == [0, 1, 2, 2, 3]
    assert verdict.in_result([Life(0, [0, 1, 2]), Life(1, [2, 3])]) == [0, 2, 3]


def performance(directory: Path, lives: list[Life], output: bytes) -> verdict.Verdict:
    stage = Stage(directory)
    stage.input.write_bytes(b"a b c")
    stage.output.write_bytes(output)
    log = DeliveryLog(stage.deliveries)
    for life in lives:
        log.life_begins(life.kept)
        for number in life.numbers:
            log.delivered(number)
    return verdict.judge(stage, 5)


def test_a_good_performance_is_called_good(tmp_path: Path) -> None:
    judged = performance(tmp_path, [Life(0, [0, 1, 2]), Life(1, [1, 2, 3, 4])], b"a b c")
    assert judged.good
    assert (judged.delivered, judged.redelivered, judged.duplicates, judged.losses) == (7, 2, 0, 0)
    assert judged.expected == judged.found


@pytest.mark.parametrize(
    ("lives", "output", "duplicates", "losses", "difference"),
    [
        ([Life(0, [0, 1, 2, 3, 4])], b"a b", 0, 0, 3),
        ([Life(0, [0, 1, 2, 3, 4])], b"a b c ", 0, 0, 5),
        ([Life(0, [0, 1, 2, 3, 4])], b"a B c", 0, 0, 2),
        ([Life(0, [0, 1, 3, 4])], b"a b c", 0, 1, None),
        ([Life(0, [0, 1, 2]), Life(3, [2, 3, 4])], b"a b c", 1, 0, None),
        ([Life(0, [0, 2, 1, 3, 4])], b"a b c", 0, 0, None),
        ([], b"a b c", 0, 5, None),
    ],
)
def test_the_judge_notices_what_is_wrong(
    tmp_path: Path, lives: list[Life], output: bytes, duplicates: int, losses: int, difference: int | None
) -> None:
    judged = performance(tmp_path, lives, output)
    assert not judged.good
    assert (judged.duplicates, judged.losses, judged.difference) == (duplicates, losses, difference)


def test_the_evidence_is_read_on_from_where_it_was_left(tmp_path: Path) -> None:
    deliveries = Deliveries(tmp_path / "log")
    deliveries.look()
    assert (deliveries.lives, deliveries.reached) == ([], 0)
    log = DeliveryLog(tmp_path / "log")
    log.life_begins(0)
    log.delivered(0)
    deliveries.look()
    with (tmp_path / "log").open("ab") as unfinished:
        unfinished.write(b"1")
    deliveries.look()
    assert deliveries.reached == 1
    with (tmp_path / "log").open("ab") as unfinished:
        unfinished.write(b"2\n")
    deliveries.look()
    assert deliveries.lives == [Life(0, [0, 12])]
