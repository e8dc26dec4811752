"""The engine in simulated time, in processes of their own.

While a history runs, the engine's modules have other code and other threads. A thread of an engine that is still at
work in the same process, for whichever test came before, would meet both; neither it nor the history might ever end.
"""

import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]


def simulated(cases: str, *options: str, timeout: float = 300) -> None:
    """Run the cases of one file of this folder; fail with what they print if one of them does."""
    file = Path(__file__).with_name(cases)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file), *options],
        cwd=TOP,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-5000:]


def test_every_rule_holds_in_every_history() -> None:
    simulated("cases_histories.py")


def test_faults_in_the_engine_are_noticed() -> None:
    simulated("cases_mutations.py")


@pytest.mark.long
def test_every_rule_holds_in_a_hundred_thousand_histories() -> None:
    simulated("cases_histories.py", "-m", "long", timeout=7200)


@pytest.mark.long
def test_every_fault_in_the_engine_is_noticed() -> None:
    simulated("cases_mutations.py", "-m", "long", timeout=7200)
