"""Records that come along with hints of NATS."""

from tailrace.backends.nats.frames import Kind, State, compose, position
from tailrace.backends.nats.news import KEPT, LARGEST, News
from tailrace.backends.nats.stored import Stored
from tailrace.spi import Boundary, Page, ReadRequest, Seal

BIRTH = Boundary(7, 0, 0)


def message(sequence: int, before: State, *payloads: bytes, kind: Kind = Kind.RECORDS) -> Stored:
    return Stored(sequence, 1, compose(kind, 0, sequence, "t", before, payloads))


def taken(news: News, after: Boundary = BIRTH, records: int = 100, size: int = 10_000) -> list[bytes] | None:
    page = news.take(ReadRequest("t", after, records, size))
    return None if page is None else [record[2] for record in page.records]


def test_who_stands_exactly_before_it_takes_it_once_and_is_sent_to_look() -> None:
    news, first = News(), message(3, State(7), b"a", b"b")
    news.note("t", first)
    page = news.take(ReadRequest("t", BIRTH, 100, 10_000))
    records = [(position(3, 0), 3, b"a"), (position(3, 1), 3, b"b")]
    assert page == Page(records, first.state.tail, more=True)
    assert taken(news) is None


def test_messages_that_follow_one_another_are_one_page() -> None:
    news, first = News(), message(3, State(7), b"a")
    news.note("t", first)
    news.note("t", message(9, first.state, b"b"))
    assert taken(news) == [b"a", b"b"]


def test_who_stands_elsewhere_takes_nothing() -> None:
    news, first = News(), message(3, State(7), b"a")
    news.note("t", message(9, first.state, b"b"))
    assert taken(news) is None
    assert taken(news, first.state.tail._replace(tag=99)) is None
    assert taken(news, first.state.tail) == [b"b"]


def test_what_does_not_follow_is_a_new_beginning() -> None:
    news = News()
    news.note("t", message(3, State(7), b"a"))
    news.note("t", message(9, State(8), b"b"))
    assert taken(news) is None
    assert taken(news, Boundary(8, 0, 0)) == [b"b"]


def test_anything_but_records_says_that_what_is_kept_may_be_no_longer_so() -> None:
    for other in (
        message(9, State(7), kind=Kind.END),
        message(9, State(7), kind=Kind.CONTROL),
        message(9, State(7, seal=Seal()), b"b"),
        message(9, State(7), b"x" * LARGEST),
        message(9, State(7), *[b"x"] * (KEPT + 1)),
    ):
        news = News()
        news.note("t", message(3, State(7), b"a"))
        news.note("t", other)
        assert taken(news) is None


def test_what_does_not_fit_is_left_to_a_look() -> None:
    news = News()
    news.note("t", message(3, State(7), b"a", b"b"))
    assert taken(news, records=1) is None
    news.note("t", message(3, State(7), b"a", b"b"))
    assert taken(news, size=1) is None
    news.note("t", message(3, State(7), b"a", b"b"))
    assert taken(news, records=0) is None
