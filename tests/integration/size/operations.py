"""What stores do all day, on topics among many others. Each can be repeated: the nth time it has topics of its own."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.integration.size.work import EACH, Engine

from tailrace.options import StoreOptions
from tailrace.retention import Retention
from tailrace.spi import Appended, Entry, Page, ReadRequest, SweepBudget, Unborn

LONG = "long"
"""A topic with more than one page."""

_TIMEOUT = 10.0
_SOME = SweepBudget(max_records=5 * EACH)
_BRIEF = SweepBudget(max_seconds=0.3)
_AN_HOUR = 3600.0


class Stage:
    """An engine with topics in it, and a store for each retention. A context manager's inside: ``close`` it."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._stores: dict[str, Any] = {}
        self.store = self.opened()
        self.store.append([Entry(LONG, [b"x" * 100] * 2000)], _TIMEOUT)
        self.watch = self.store.watch()
        self.followed = [engine.name(0.6, nth) for nth in range(30)]
        self.watch.follow(self.followed, ())

    def opened(self, **options: Any) -> Any:
        """Open a store with these options, or return the one that is open."""
        key = repr(options)
        if key not in self._stores:
            self._stores[key] = self.engine.open(StoreOptions(**options))
        return self._stores[key]

    def close(self) -> None:
        """Close all stores."""
        self.watch.close()
        for store in self._stores.values():
            store.close()


@dataclass(frozen=True)
class Operation:
    """What is done, and what may be said of its work.

    Attributes:
        run: Takes the number of the repetition, from 0 on.
        goes_on: It does as much as it finds, or as there is time for: only each statement's work is of interest.
        slices: It looks at rows by the thousand, in slices of a limited number.
    """

    run: Callable[[Stage, int], object]
    goes_on: bool = False
    slices: bool = False


def _append(stage: Stage, nth: int) -> None:
    _stored(stage, [Entry(stage.engine.name(0.1, nth), [b"x"])])


def _append_at_once(stage: Stage, nth: int) -> None:
    _stored(stage, [Entry(stage.engine.name(0.1, nth), [b"x"], may_wait=False)])


def _append_to_many(stage: Stage, nth: int) -> None:
    _stored(stage, [Entry(stage.engine.name(0.2, at), [b"x", b"y"]) for at in range(20)])


def _begin(stage: Stage, nth: int) -> None:
    _stored(stage, [Entry(f"new-{nth}", [b"x"])])


def _begin_many(stage: Stage, nth: int) -> None:
    _stored(stage, [Entry(f"new-{nth}-{at}", [b"x"]) for at in range(20)])


def _revive(stage: Stage, nth: int) -> None:
    _stored(stage, [Entry(stage.engine.name(0.1, nth, empty=True), [b"x"])])


def _stored(stage: Stage, entries: list[Entry]) -> None:
    outcomes = stage.store.append(entries, _TIMEOUT)
    assert all(isinstance(outcome, Appended) for outcome in outcomes), outcomes


def _append_to_full(stage: Stage, nth: int) -> None:
    store = stage.opened(retention=Retention(max_records=8))
    assert isinstance(store.append([Entry(stage.engine.name(0.4, nth), [b"x"])], _TIMEOUT)[0], Appended)


def _bounds(stage: Stage, nth: int) -> None:
    assert stage.store.bounds(stage.engine.name(0.5, nth)).tail.position >= EACH


def _bounds_of_none(stage: Stage, nth: int) -> None:
    assert isinstance(stage.store.bounds(f"none-{nth}"), Unborn)


def _read_at_tail(stage: Stage, nth: int) -> None:
    name = stage.engine.name(0.5, nth)
    (page,) = stage.store.read([ReadRequest(name, stage.engine.tail(name), 512, 2**20)])
    assert isinstance(page, Page)
    assert not page.records


def _read_pages(stage: Stage, nth: int) -> None:
    place = stage.store.bounds(LONG).beginning
    for room in (2**20, 10_000):
        (page,) = stage.store.read([ReadRequest(LONG, place, 512, room)])
        assert len(page.records) == min(512, room // 100), len(page.records)
        place = page.end


def _read_many(stage: Stage, nth: int) -> None:
    names = [stage.engine.name(0.5, at) for at in range(29)]
    places = [stage.engine.tail(name)._replace(position=EACH - at % 2) for at, name in enumerate(names)]
    pages = stage.store.read(
        [
            *(ReadRequest(name, place, 512, 2**20) for name, place in zip(names, places, strict=True)),
            ReadRequest(LONG, stage.store.bounds(LONG).beginning, 100, 2**20),
        ]
    )
    assert [len(page.records) for page in pages] == [*(at % 2 for at in range(29)), 100]


def _seal(stage: Stage, nth: int) -> None:
    stage.store.seal(stage.engine.name(0.7, nth), None)


def _look_for_changes(stage: Stage, nth: int) -> None:
    _stored(stage, [Entry(stage.followed[nth], [b"x"])])
    while not stage.watch.wait(_TIMEOUT).topics:
        pass


def _list(stage: Stage, nth: int) -> None:
    after = stage.engine.name(0.5, nth)
    assert len(stage.store.topics(prefix="t0", after=after, limit=50)) == 50


def _trim(stage: Stage, nth: int) -> None:
    assert stage.store.trim(stage.engine.name(0.8, nth), Retention(max_records=3)) == EACH - 3


def _delete(stage: Stage, nth: int) -> None:
    assert stage.store.delete(stage.engine.name(0.9, nth))


def _sweep_by_age(stage: Stage, nth: int) -> None:
    report = stage.opened(retention=Retention(max_age=_AN_HOUR)).sweep(_SOME)
    assert (report.records, report.done) == (5 * EACH, False)


def _sweep_by_age_of_nothing(stage: Stage, nth: int) -> None:
    report = stage.opened(retention=Retention(max_age=24 * _AN_HOUR)).sweep(SweepBudget())
    assert (report.records, report.done) == (0, True)


def _sweep_by_count(stage: Stage, nth: int) -> None:
    report = stage.opened(retention=Retention(max_records=2)).sweep(SweepBudget(max_records=5 * (EACH - 2)))
    assert report.records == 5 * (EACH - 2)


def _sweep_by_count_of_nothing(stage: Stage, nth: int) -> None:
    assert stage.opened(retention=Retention(max_records=5000)).sweep(_BRIEF).records == 0


def _forget(stage: Stage, nth: int) -> None:
    assert stage.opened(forget_after=_AN_HOUR).sweep(_BRIEF).forgotten or nth


def _expire(stage: Stage, nth: int) -> None:
    stage.opened(tombstone_for=_AN_HOUR).sweep(_BRIEF)


OPERATIONS: Mapping[str, Operation] = {
    "append": Operation(_append),
    "append, at once or not at all": Operation(_append_at_once),
    "append to twenty topics": Operation(_append_to_many),
    "begin a topic": Operation(_begin),
    "begin twenty topics": Operation(_begin_many),
    "append to an empty topic": Operation(_revive),
    "append to a topic that is full": Operation(_append_to_full),
    "bounds": Operation(_bounds),
    "bounds of no topic": Operation(_bounds_of_none),
    "read at the tail": Operation(_read_at_tail),
    "read two pages": Operation(_read_pages),
    "read thirty topics": Operation(_read_many),
    "seal": Operation(_seal),
    "look for changes": Operation(_look_for_changes, goes_on=True),
    "list": Operation(_list),
    "trim": Operation(_trim),
    "delete": Operation(_delete),
    "sweep by age": Operation(_sweep_by_age),
    "sweep by age, nothing to do": Operation(_sweep_by_age_of_nothing),
    "sweep by count": Operation(_sweep_by_count, slices=True),
    "sweep by count, nothing to do": Operation(_sweep_by_count_of_nothing, goes_on=True, slices=True),
    "forget": Operation(_forget, goes_on=True),
    "expire": Operation(_expire, goes_on=True),
}
"""In this order: what removes comes last."""
