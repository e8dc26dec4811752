"""What a hint carries is a page for whoever stands exactly before it, once, and for nobody else."""

import pytest

from tailrace.backends.redis.news import KEPT, News
from tailrace.spi import Boundary, Page, ReadRequest, StoredRecord

HERE, NEXT, AFTER = Boundary(7, 4, 44), Boundary(7, 5, 55), Boundary(7, 6, 66)


def request(after: Boundary, *, records: int = 10, size: int = 100) -> ReadRequest:
    return ReadRequest("t", after, records, size)


def hint(before: Boundary, here: Boundary, payload: bytes) -> bytes:
    # A low is longer than its tag.
    low = here.tag + (1 << 40)
    return b"%d %d %d %d %d %b" % (before.incarnation, before.position, before.tag, here.position, low, payload)


@pytest.fixture
def news() -> News:
    """After one hint."""
    told = News()
    told.note("t", hint(HERE, NEXT, b"a b\0c "))
    return told


def test_whoever_stands_before_it_gets_it_once_and_is_told_to_look_again(news: News) -> None:
    assert news.take(request(HERE)) == Page([StoredRecord(5, 55, b"a b\0c ")], NEXT, more=True)
    assert news.take(request(HERE)) is None


@pytest.mark.parametrize(
    "after", [NEXT, Boundary(7, 3, 33), Boundary(7, 4, 99), Boundary(8, 4, 44)], ids=["at", "before", "other", "life"]
)
def test_a_place_elsewhere_gets_nothing_and_takes_nothing_away(news: News, after: Boundary) -> None:
    assert news.take(request(after)) is None
    assert news.take(request(HERE)) is not None


def test_whether_a_place_holds_is_not_answered(news: News) -> None:
    assert news.take(request(HERE, records=0)) is None


def test_records_that_follow_one_another_come_together(news: News) -> None:
    news.note("t", hint(NEXT, AFTER, b""))

    page = news.take(request(HERE))

    assert page is not None
    assert ([record.payload for record in page.records], page.end) == ([b"a b\0c ", b""], AFTER)


def test_a_record_that_does_not_follow_replaces_what_was_kept(news: News) -> None:
    news.note("t", hint(AFTER, Boundary(7, 7, 77), b"x"))

    assert news.take(request(HERE)) is None
    assert news.take(request(AFTER)) is not None


@pytest.mark.parametrize("message", [b"", b"moved", b"1 2 3 4 x y", b"1 2 3 4 5", b"\xff \xff \xff \xff \xff \xff"])
def test_a_hint_that_carries_nothing_ends_what_was_kept(news: News, message: bytes) -> None:
    news.note("t", message)

    assert news.take(request(HERE)) is None


def test_a_page_keeps_to_its_bounds_but_for_a_lone_record(news: News) -> None:
    assert news.take(request(HERE, size=1)) is not None
    news.note("t", hint(HERE, NEXT, b"12345"))
    news.note("t", hint(NEXT, AFTER, b"12345"))
    assert news.take(request(HERE, size=9)) is None
    news.note("t", hint(HERE, NEXT, b"12345"))
    news.note("t", hint(NEXT, AFTER, b"12345"))
    assert news.take(request(HERE, records=1)) is None


def test_only_so_many_are_kept() -> None:
    news = News()
    for number in range(KEPT + 1):
        news.note("t", hint(Boundary(7, number, number), Boundary(7, number + 1, number + 1), b"x"))

    assert news.take(request(Boundary(7, 0, 0), records=100, size=1000)) is None
    assert news.take(request(Boundary(7, KEPT, KEPT))) is not None


def test_what_nobody_follows_or_nobody_listened_to_is_dropped(news: News) -> None:
    news.forget(["other"])
    news.note("u", hint(HERE, NEXT, b"x"))
    news.forget(["t"])
    assert news.take(request(HERE)) is None
    news.clear()
    assert news.take(ReadRequest("u", HERE, 10, 100)) is None
