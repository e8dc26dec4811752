"""Two processes at one stream, in an order that is made and not hoped for: the second one decides on what the first
one has committed.

The first one stops inside of its transaction, behind the lock. The second one comes, and is seen to wait. Only then the
first one goes on. The same story without the lock, or without the rule, is told as well: the proof does not hold there.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest
from tests.workflow.crowd import Crowd, There
from tests.workflow.databases import Between, Over
from tests.workflow.items import keyed
from tests.workflow.places import Place

from tailrace import spi
from tailrace.backends.sqlite.gate import Gate
from tailrace.errors import DurableStreamUnavailableError
from tailrace.options import StoreOptions, parse_url
from tailrace.spi import Ask, Database
from tailrace.spi.relational import Rows, Value
from tailrace.testing.servers.waiting import until
from tailrace.workflow import rules
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.errors import StreamFullError
from tailrace.workflow.model import StreamRef

CAP = 10


class Stops(Between):
    """Tells that the stream is locked, and waits there for the word to go on; without locks, if that is asked for."""

    def __init__(self, database: Database, there: There, *, locks: bool) -> None:
        super().__init__(database)
        self._there = there
        self._locks = locks
        self._told = False

    def written(self, statement: str) -> str:
        return statement if self._locks else statement.replace("{for_update}", "")

    def asked(self, ask: Ask, statement: str, values: Sequence[Value], rows: Rows) -> None:
        if "{for_update}" in statement and "{workflow_streams}" in statement and rows and not self._told:
            self._told = True
            self._there.tell("inside")
            self._there.heard()


class Loose(sqlite3.Connection):
    """A connection whose transactions lock nothing when they begin."""

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        return super().execute(statement.replace("BEGIN IMMEDIATE", "BEGIN"), *values)


@contextmanager
def removed(what: str) -> Iterator[None]:
    """Take something of what is proved out of this process."""
    with ExitStack() as patches:
        if what == "the rule":
            real = rules.append
            boundless = lambda state, batch, known, cap, *more: real(state, batch, known, 2**30, *more)  # noqa: E731
            patches.enter_context(patch.object(rules, "append", boundless))
        elif what == "the lock":
            # Of SQLite, where it is no word of a statement.
            patches.enter_context(patch.object(sqlite3, "connect", partial(sqlite3.connect, factory=Loose)))
            patches.enter_context(patch.object(Gate, "run", lambda self, work, deadline: work()))
            patches.enter_context(patch.object(Gate, "ring", lambda self, moved: None))
        yield


def append(there: There, url: str, stream: StreamRef, keys: Sequence[str], without: str) -> str:
    """Append in a service of its own, stopping inside; return what came of it."""
    with removed(without):
        store: Any = spi.open_store(parse_url(url), StoreOptions())
        database = Stops(store.database, there, locks=without != "the lock")
        with closing(EmbeddedService(Over(store, database))) as service:  # type: ignore[arg-type]
            try:
                appended = service.append(stream, keyed(*keys), max_pending_items=CAP)
            except StreamFullError:
                return "full"
            except DurableStreamUnavailableError:
                return "failed"
            return f"stored {appended.accepted} from {appended.offsets[0]}"


class Story(NamedTuple):
    """What happened.

    Attributes:
        waited: Whether the second one was kept out for as long as the first one was inside.
        first, second: What came of them.
        stored: Items in the end.
    """

    waited: bool
    first: str
    second: str
    stored: int


def told(
    crowd: Crowd, place: Place, stream: StreamRef, first: Sequence[str], second: Sequence[str], *, without: str = ""
) -> Story:
    """Let one go inside, then the other one come, then the first one go on."""
    one, other = crowd.members(2)
    one.begin(append, place.url, stream, first, without)
    assert one.said() == "inside"
    other.begin(append, place.url, stream, second, without)
    until(lambda: place.somebody_waits() or not other.quiet(), "the second one has come", step=0.15)
    waited = other.quiet()
    one.go_on()
    outcome = one.result()
    assert other.said() == "inside"
    other.go_on()
    return Story(waited, outcome, other.result(), place.count("workflow_items"))


def letters(first: int, count: int) -> list[str]:
    """Return keys that follow each other."""
    return [f"key-{number}" for number in range(first, first + count)]


def near_the_cap(service: EmbeddedService, place: Place) -> StreamRef:
    """Return a stream with room for two more."""
    stream = place.stream()
    service.append(stream, keyed(*letters(0, CAP - 2)))
    return stream


IN_ORDER = Story(waited=True, first="stored 2 from 8", second="full", stored=CAP)


def test_two_writers_near_the_cap_decide_one_after_the_other(
    service: EmbeddedService, place: Place, crowd: Crowd
) -> None:
    stream = near_the_cap(service, place)
    assert told(crowd, place, stream, letters(8, 2), letters(10, 2)) == IN_ORDER
    assert service.describe(stream).pending_items == CAP


def test_two_writers_of_the_same_keys_store_them_once(service: EmbeddedService, place: Place, crowd: Crowd) -> None:
    stream = near_the_cap(service, place)
    story = told(crowd, place, stream, letters(8, 2), letters(8, 2))
    assert story == Story(waited=True, first="stored 2 from 8", second="stored 0 from 8", stored=CAP)


@pytest.mark.parametrize("run_is_there", [False, True], ids=["a new run", "a known run"])
def test_two_who_open_a_stream_at_once_are_decided_by_the_rules(
    service: EmbeddedService, place: Place, crowd: Crowd, run_is_there: bool
) -> None:
    stream = place.stream()
    if run_is_there:
        service.start_run(stream.run)
    assert told(crowd, place, stream, letters(0, 6), letters(6, 4)) == Story(
        waited=True, first="stored 6 from 0", second="stored 4 from 6", stored=CAP
    )
    other = stream.run.stream("other")
    assert told(crowd, place, other, letters(0, 6), letters(6, 5))[:3] == (True, "stored 6 from 0", "full")
    assert (place.count("workflow_streams"), place.count("workflow_runs")) == (2, 1)


def test_who_comes_after_an_opener_that_is_refused_opens_the_stream(place: Place, crowd: Crowd) -> None:
    stream = place.stream()
    assert told(crowd, place, stream, letters(0, CAP + 1), letters(0, 3)) == Story(
        waited=True, first="full", second="stored 3 from 0", stored=3
    )
    assert (place.count("workflow_streams"), place.count("workflow_runs")) == (1, 1)


def test_without_the_rule_the_proof_fails(service: EmbeddedService, place: Place, crowd: Crowd) -> None:
    stream = near_the_cap(service, place)
    story = told(crowd, place, stream, letters(8, 2), letters(10, 2), without="the rule")
    assert story == Story(waited=True, first="stored 2 from 8", second="stored 2 from 10", stored=CAP + 2)
    other = place.stream()
    story = told(crowd, place, other, letters(0, 6), letters(6, 5), without="the rule")
    assert story[:3] == (True, "stored 6 from 0", "stored 5 from 6")


def test_without_the_lock_the_proof_fails(service: EmbeddedService, place: Place, crowd: Crowd) -> None:
    stream = near_the_cap(service, place)
    story = told(crowd, place, stream, letters(8, 2), letters(10, 2), without="the lock")
    assert not story.waited
    # That two are never at one place is a constraint as well: it refuses what was decided on old ground, and servers
    # are asked again then.
    assert story.second == ("failed" if place.engine == "sqlite" else "full")
