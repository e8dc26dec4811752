"""The plugin reports what was tested on what, and fails a run that lacks a required store."""

import subprocess
import sys
from pathlib import Path

CASES = """
import pytest
from tailrace.testing.builtin import MemoryUnderTest
from tailrace.testing.outcome import not_run

class Mine(MemoryUnderTest):
    name = "mine"

    def unavailable(self):
        return {reason!r}

@pytest.fixture
def store_under_test():
    return Mine()

from tailrace.testing.fixtures import *

def test_something(topic):
    topic.append(b"x")

def test_too_much(store):
    not_run("it declares no such thing")
"""


def _pytest(folder: Path, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_mine.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=200, check=False)


def test_a_store_is_printed_with_what_it_declares(tmp_path: Path) -> None:
    done = _pytest(tmp_path, CASES.format(reason=None))
    assert done.returncode == 0, done.stdout
    assert "mine: memory; not durable; one process; exact gap detection" in done.stdout


def test_a_case_that_was_not_run_is_named_with_its_reason(tmp_path: Path) -> None:
    done = _pytest(tmp_path, CASES.format(reason=None))
    assert "not run: test_mine.py::test_too_much: it declares no such thing" in done.stdout


def test_a_missing_store_is_reported(tmp_path: Path) -> None:
    done = _pytest(tmp_path, CASES.format(reason="no server"))
    assert done.returncode == 0
    assert "mine is missing: no server" in done.stdout


def test_a_missing_store_that_is_required_fails(tmp_path: Path) -> None:
    done = _pytest(tmp_path, CASES.format(reason="no server"), "--require-stores=other,mine")
    assert done.returncode == 1
    assert "the required store mine is missing: no server" in done.stdout


def test_a_required_store_that_nobody_tested_fails(tmp_path: Path) -> None:
    done = _pytest(tmp_path, CASES.format(reason=None), "--require-stores=mine,other")
    assert done.returncode == 1
    assert "MISSING: other is required, and no case ran on it" in done.stdout


def test_a_required_store_that_was_tested_passes(tmp_path: Path) -> None:
    assert _pytest(tmp_path, CASES.format(reason=None), "--require-stores=mine").returncode == 0


def test_a_project_that_does_not_use_the_kit_notices_nothing(tmp_path: Path) -> None:
    done = _pytest(tmp_path, "def test_nothing():\n    import sys\n    assert 'sqlite3' not in sys.modules\n")
    assert done.returncode == 0, done.stdout
    assert "tailrace" not in done.stdout


def test_whoever_forgets_the_fixture_is_told_what_to_define(tmp_path: Path) -> None:
    done = _pytest(tmp_path, "from tailrace.testing.fixtures import *\n\ndef test_it(store):\n    pass\n")
    assert done.returncode == 1
    assert "define a fixture store_under_test" in done.stdout
