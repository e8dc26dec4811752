"""Whether a place still holds: every line of the judgement, without a store."""

import pytest

from tailrace.spi import Boundary, Bounds, Unborn, lost_birth, lost_place

HORIZON, TAIL = Boundary(7, 10, 1), Boundary(7, 20, 2)
TAGS = dict.fromkeys(range(11, 20), 5)


@pytest.mark.parametrize("place", [HORIZON, TAIL, Boundary(7, 11, 5), Boundary(7, 19, 5)])
def test_a_place_at_the_horizon_at_the_tail_or_at_a_record_holds(place: Boundary) -> None:
    assert lost_place(place, Bounds(HORIZON, TAIL), TAGS.get) is None


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        (Boundary(8, 15, 5), "created again"),
        (Boundary(7, 9, 1), "removed by retention"),
        (Boundary(7, 0, 0), "removed by retention"),
        (Boundary(7, 10, 2), "another history"),
        (Boundary(7, 15, 4), "another history"),
        (Boundary(7, 20, 1), "another history"),
        (Boundary(7, 21, 5), "another history"),
    ],
)
def test_any_other_place_is_lost_and_the_reason_told(place: Boundary, reason: str) -> None:
    lost = lost_place(place, Bounds(HORIZON, TAIL), TAGS.get)
    assert lost is not None
    assert reason in lost.reason


def test_a_position_that_holds_no_record_is_another_history() -> None:
    assert lost_place(Boundary(7, 15, 5), Bounds(HORIZON, TAIL), lambda _: None) is not None


def test_an_empty_topic_has_one_place() -> None:
    empty = Bounds(TAIL, TAIL)
    assert lost_place(TAIL, empty, TAGS.get) is None
    assert lost_place(Boundary(7, 20, 3), empty, TAGS.get) is not None


@pytest.mark.parametrize(("grave", "lost"), [(0, False), (3, False), (4, True)])
def test_a_birth_is_lost_if_another_life_has_ended_since(grave: int, lost: bool) -> None:
    assert (lost_birth(Unborn(seen_at=0, grave=3), grave, 0, 60.0) is not None) is lost


@pytest.mark.parametrize(("seconds", "lost"), [(60, False), (61, True)])
def test_a_birth_is_lost_once_ended_lives_may_be_forgotten(seconds: int, lost: bool) -> None:
    assert (lost_birth(Unborn(seen_at=0, grave=3), 3, seconds * 10**6, 60.0) is not None) is lost
