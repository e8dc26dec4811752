"""What breaks again and again is opened later and later, but not too late, and at once when it had lasted."""

import pytest

from tailrace.backends.redis import lapses
from tailrace.backends.redis.lapses import FIRST, LASTED, LONGEST, Lapses


@pytest.fixture(autouse=True)
def no_jitter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lapses.random, "uniform", lambda _low, _high: 1.0)


def test_the_first_lapse_costs_nothing_and_the_next_ones_more_and_more_up_to_a_bound() -> None:
    found, now, pauses = Lapses(), 100.0, []
    for _ in range(40):
        found.note(now, now + 1.0)
        now += 1.0
        pauses.append(max(0.0, found.over_at - now))
    assert pauses[:5] == pytest.approx([0.0, FIRST, 2 * FIRST, 4 * FIRST, 8 * FIRST])
    assert pauses == sorted(pauses)
    assert pauses[-1] == pytest.approx(LONGEST)


def test_what_has_lasted_begins_anew() -> None:
    found = Lapses()
    for _ in range(10):
        found.note(100.0, 101.0)
    found.note(200.0, 200.0 + LASTED)
    assert found.over_at < 200.0
    found.note(300.0, 300.1)
    assert found.over_at == pytest.approx(300.1 + FIRST)
