"""Among greenlets everything holds that holds among threads, whichever of the two is imported first.

A patch can not be undone, so each run is a process of its own.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from bench import scale_gevent

TOP = Path(__file__).parents[2]


def run(*arguments: str, timeout: float = 100) -> str:
    """Run a module of this folder; return what it printed, and fail with that if it did."""
    done = subprocess.run(
        [sys.executable, "-m", *arguments], cwd=TOP, capture_output=True, text=True, timeout=timeout, check=False
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
    return done.stdout


def test_s32_greenlets_of_a_process_that_is_patched_first() -> None:
    assert "passed" in run("tests.gevent.patched", "after", "scenes.py")


@pytest.mark.parametrize("when", ["after", pytest.param("before", marks=pytest.mark.long)])
def test_greenlets_run_while_others_wait_for_postgresql(when: str) -> None:
    assert "passed" in run("tests.gevent.patched", when, "postgres_watch.py")


def test_s20_kills_and_timeouts_at_any_moment() -> None:
    assert "passed" in run("tests.gevent.patched", "after", "moments.py")


def test_s24_slow_readers_among_greenlets() -> None:
    assert "passed" in run("tests.gevent.patched", "after", "slow_readers.py")


def test_streams_of_workflows_among_greenlets() -> None:
    assert "passed" in run("tests.gevent.patched", "after", "workflow_streams.py", timeout=300)


@pytest.mark.long
def test_s24_slow_readers_among_greenlets_in_full() -> None:
    assert "passed" in run("tests.gevent.patched", "after", "slow_readers.py", "-m", "long", timeout=600)


@pytest.mark.long
def test_s20_ten_thousand_readers_and_kills_leave_nothing_behind() -> None:
    assert "passed" in run("tests.gevent.patched", "after", "leaks.py", timeout=1500)


@pytest.mark.long
def test_some_of_the_kit_in_a_process_that_is_patched_late() -> None:
    some = "TestClose or TestOneShot"
    assert "passed" in run("tests.gevent.patched", "before", "kit_sqlite.py", "-k", some)


def test_live_delivery_in_a_process_that_is_patched_first() -> None:
    assert "passed" in run("tests.gevent.patched", "after", "kit_broadcast.py", "-k", "TestClose or TestEntering")


@pytest.mark.long
def test_live_delivery_in_a_process_that_is_patched_late() -> None:
    assert "passed" in run("tests.gevent.patched", "before", "kit_broadcast.py", timeout=300)


@pytest.mark.long
@pytest.mark.parametrize("when", ["before", "after"])
def test_handing_over_from_live_delivery_to_streams_and_back(when: str) -> None:
    assert "passed" in run("tests.gevent.patched", when, "kit_rollout.py", timeout=300)


@pytest.mark.long
def test_s32_greenlets_of_a_process_that_is_patched_late() -> None:
    assert "passed" in run("tests.gevent.patched", "before", "scenes.py")


@pytest.mark.long
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    "store", ["memory", "sqlite", "redis", "redis_cluster", "redis_sentinel", "postgres", "mysql", "nats", "http"]
)
def test_the_whole_kit(store: str, when: str) -> None:
    assert "passed" in run("tests.gevent.patched", when, f"kit_{store}.py", timeout=600)


def test_gevent_is_not_imported_by_us_and_changes_nothing_before_it_patches(tmp_path: Path) -> None:
    program = f"""
import sys, tailrace

def use():
    with tailrace.connect("sqlite:///{tmp_path}/events.db") as streams, streams.topic("t").subscribe_from_tail() as sub:
        streams.topic("t").append(b"x")
        assert sub.receive(10).payload == b"x"

use()
assert not [name for name in sys.modules if name.startswith(("gevent", "greenlet"))]
import gevent.monkey
use()
from gevent.hub import get_hub
assert get_hub().threadpool.size == 0
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.long
@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_ten_thousand_greenlets_wait_in_little_memory_and_all_hear_of_one_record_soon(store: str) -> None:
    figures = scale_gevent.once(store, scale_gevent.READERS)
    assert figures["MiB"] <= scale_gevent.MOST_MIB
    assert figures["one topic"] <= scale_gevent.MOST_SECONDS
    assert figures["idle %"] < 3
