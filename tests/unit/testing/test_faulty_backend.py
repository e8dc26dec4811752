"""The faulty backend does what it says: no fault is missed, none is applied twice."""

from pathlib import Path

import pytest

from tailrace import spi
from tailrace.backends.memory import MemoryStore
from tailrace.errors import DurableStreamUnavailableError
from tailrace.testing.faults import Fail, FaultyBackend, LoseReply, Stall
from tailrace.testing.leaks import no_leaks
from tailrace.testing.reading import Background

ENTRY = [spi.Entry("a", [b"x"])]


@pytest.fixture
def backend() -> FaultyBackend:
    return FaultyBackend(MemoryStore())


def _append(backend: FaultyBackend) -> spi.AppendOutcome:
    (outcome,) = backend.append(ENTRY, 1.0)
    return outcome


def _stored(backend: FaultyBackend) -> int:
    return sum(info.records for info in backend.topics())


def test_the_next_calls_fail_and_then_no_more(backend: FaultyBackend) -> None:
    backend.next("append", Fail(), times=2)
    for _ in range(2):
        with pytest.raises(DurableStreamUnavailableError):
            _append(backend)
    assert isinstance(_append(backend), spi.Appended)
    assert (backend.calls["append"], backend.entries, _stored(backend)) == (3, 3, 1)


def test_planned_faults_come_before_the_lasting_one_and_in_order(backend: FaultyBackend) -> None:
    backend.always("append", Fail(OSError))
    backend.next("append", LoseReply())
    backend.next("append", Fail(KeyboardInterrupt))
    assert isinstance(_append(backend), spi.AppendUnknown)
    with pytest.raises(KeyboardInterrupt):
        _append(backend)
    for _ in range(2):
        with pytest.raises(OSError):
            _append(backend)
    backend.heal()
    assert isinstance(_append(backend), spi.Appended)
    assert _stored(backend) == 2


def test_a_lost_reply_did_its_work(backend: FaultyBackend) -> None:
    backend.next("seal", LoseReply())
    with pytest.raises(DurableStreamUnavailableError):
        backend.seal("a", None)
    bounds = backend.bounds("a")
    assert isinstance(bounds, spi.Bounds)
    assert bounds.seal == spi.Seal(None)


def test_a_stall_waits_until_it_is_released(backend: FaultyBackend) -> None:
    stall = Stall()
    backend.next("append", stall)
    call = Background(lambda: _append(backend))
    assert stall.reached.wait(10)
    assert call.running
    assert _stored(backend) == 0
    stall.release()
    assert isinstance(call.result(), spi.Appended)


def test_hints_are_lost_while_they_are_off(backend: FaultyBackend) -> None:
    watch = backend.watch()
    watch.follow(["a"], [])
    backend.hints = False
    _append(backend)
    assert watch.wait(0) == spi.Changes()
    backend.hints = True
    _append(backend)
    assert watch.wait(0) == spi.Changes(frozenset({"a"}))


def test_a_store_that_is_away_breaks_the_watch_that_waits(backend: FaultyBackend) -> None:
    watch = backend.watch()
    waiting = Background(lambda: (watch.wait(30), watch.wait(30)))
    backend.go_away()
    with pytest.raises(DurableStreamUnavailableError):
        waiting.result(5)
    with pytest.raises(DurableStreamUnavailableError):
        backend.watch()


def test_a_thread_that_stays_is_told(backend: FaultyBackend) -> None:
    stall = Stall()
    backend.next("append", stall)
    calls = []
    with pytest.raises(AssertionError, match="left behind"), no_leaks(settle=0.05):
        calls.append(Background(lambda: _append(backend)))
    stall.release()
    calls[0].result()


def test_a_file_that_stays_is_told(tmp_path: Path) -> None:
    path = tmp_path / "left-open"
    files = []
    with pytest.raises(AssertionError, match="left-open"), no_leaks(settle=0.05):
        files.append(path.open("w"))
    files[0].close()
