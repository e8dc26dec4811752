"""Two reads of one reader under way at once, after a caller was cancelled and asked again: the first to end counts."""

import pytest

from tailrace import CursorUnavailableError
from tailrace.backends.memory import MemoryStore
from tailrace.engine import Engine, Reader, Step
from tailrace.options import EngineOptions
from tailrace.records import CLOSED, DurableStreamRecord
from tailrace.retention import Retention
from tailrace.spi import Page


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def reader(store: MemoryStore) -> Reader:
    """Behind, after the first of four records, with room for one."""
    engine = Engine(store, EngineOptions(buffer_records=1))
    for payload in (b"1", b"2", b"3", b"4"):
        engine.writing.append("t", [payload])
    reader = engine.open("t", engine.beginning("t"))
    attempt = object()
    assert reader.enter(attempt) is Step.PULL
    reader.pull()
    assert reader.enter(attempt) is None
    assert isinstance(reader.step(), DurableStreamRecord)
    return reader


def test_a_page_that_comes_after_a_loss_was_told_is_not_delivered_before_it(store: MemoryStore, reader: Reader) -> None:
    place = reader.feed.place
    late = reader._engine.read("t", place)
    assert isinstance(late, Page)
    store.trim("t", Retention(max_records=2))
    reader.pull()

    reader._accept(late, place)

    with pytest.raises(CursorUnavailableError):
        reader.step()
    assert reader.step() is CLOSED


def test_a_page_that_another_read_has_brought_is_delivered_once_and_before_the_next_is_read(reader: Reader) -> None:
    place = reader.feed.place
    late = reader._engine.read("t", place)
    assert isinstance(late, Page)
    reader.pull()
    reader._accept(late, place)
    reader.pull()

    assert reader.feed.buffer.records == 1
    record = reader.step()
    assert isinstance(record, DurableStreamRecord)
    assert record.payload == b"2"
    reader.close()


def test_a_pull_whose_start_was_interrupted_is_not_waited_for(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(reader._engine.pullers, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            reader.begin_pull()

    assert not reader.pulling
    generation = reader.feed.waiter.generation
    reader.begin_pull()
    reader.feed.waiter.wait(generation, 20)
    record = reader.step()
    assert isinstance(record, DurableStreamRecord)
    assert record.payload == b"2"
    reader.close()
