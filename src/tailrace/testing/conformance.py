"""The contract kit as one call: run every case against a store URL, and report by section.

Runs pytest in a process of its own, so that neither its plugins nor the caller's threads meddle. On a
store that keeps data it uses topics with a random prefix, deletes them afterwards, and leaves out what
would touch anything else.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree as Xml

from tailrace.errors import StoreUnusableError
from tailrace.options import parse_url
from tailrace.testing.builtin import under_test
from tailrace.testing.outcome import PREFIX
from tailrace.testing.plugin import describe

STORE_VARIABLE = "TAILRACE_CONFORMANCE_STORE"
"""Where the run finds the store URL: it may hold a password, and arguments can be read by everybody."""

CASE_SECONDS, RUN_SECONDS = 300.0, 3600.0
"""What one case and all of them may take. No case waits so long for anything: one that hangs would never end."""

_STUCK = re.compile(r" in (test_\w+)$", re.MULTILINE)
"""In the stacks that pytest prints of a case that takes too long."""


@dataclass(frozen=True, slots=True)
class Case:
    """What became of one case.

    Attributes:
        section: The section of the contract, for example ``Append``.
        name: The rule, as the name of its test.
        reason: Why it failed or was not run; else empty.
    """

    section: str
    name: str
    outcome: Literal["passed", "failed", "not run"]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One section of the contract, counted."""

    section: str
    passed: int
    failed: int
    not_run: int


@dataclass(frozen=True, slots=True)
class Report:
    """What became of every case.

    Attributes:
        store: What the store declares, in one line.
        cases: In the order of the contract's sections.
        output: What pytest printed, for whoever must find out why.
    """

    store: str
    cases: tuple[Case, ...]
    output: str

    @property
    def ok(self) -> bool:
        """Whether cases ran and none failed."""
        outcomes = {case.outcome for case in self.cases}
        return "passed" in outcomes and "failed" not in outcomes

    @property
    def rows(self) -> tuple[Row, ...]:
        """The cases, counted by section."""
        counts = {case.section: Counter[str]() for case in self.cases}
        for case in self.cases:
            counts[case.section][case.outcome] += 1
        return tuple(Row(section, n["passed"], n["failed"], n["not run"]) for section, n in counts.items())


def run(url: str) -> Report:
    """Run the contract kit against the store that a URL names. Takes about a minute, an hour at most; blocks.

    Raises:
        InvalidArgumentError: It is not a store URL.
        StoreUnusableError: The store can not be opened, a case hangs, or pytest could not run the cases at all.
    """
    store = _declared(url)
    with tempfile.TemporaryDirectory() as folder:
        results, printed = Path(folder) / "results.xml", Path(folder) / "printed.txt"
        status = _perform(url, results, printed)
        output = printed.read_text(errors="replace")
        # 0: all passed; 1: some failed. Anything else: the run itself went wrong.
        if status not in (0, 1) or not results.exists():
            stuck = _STUCK.search(output)
            said = f"{stuck[1]} hangs" if stuck else output.strip()[-500:]
            late = f" within {RUN_SECONDS:.0f} s" if status is None else ""
            raise StoreUnusableError(f"the contract kit did not run to its end{late}: {said}")
        cases = sorted(map(_case, Xml.parse(results).iter("testcase")), key=lambda case: case.section)
        return Report(store, tuple(cases), output)


def _perform(url: str, results: Path, printed: Path) -> int | None:
    """Run pytest; return its status, or ``None`` if it was killed because it took too long."""
    # Into a file: the end of a pipe is not there before all are gone who were started meanwhile, and hang.
    with printed.open("wb") as said:
        try:
            return subprocess.run(
                [sys.executable, "-m", "pytest", *_arguments(results)],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                env=_environment(url),
                check=False,
                timeout=RUN_SECONDS,
            ).returncode
        except subprocess.TimeoutExpired:
            return None


def _declared(url: str) -> str:
    parse_url(url)
    store = under_test(url)
    reason = store.unavailable()
    if reason is not None:
        raise StoreUnusableError(reason)
    try:
        return describe(store.tool.capabilities)
    finally:
        store.close()


def _arguments(results: Path) -> list[str]:
    # Nothing of the caller's project may change the run: no configuration, no conftest, no cache.
    return [
        *("-c", os.devnull, "--rootdir", str(results.parent), "--noconftest", "-p", "no:cacheprovider", "-q"),
        *("-p", "tailrace.testing.plugin", f"--junitxml={results}", "-o", "junit_family=xunit1"),
        # Before pytest 9 it only prints where the case is.
        *("-o", f"faulthandler_timeout={CASE_SECONDS}", "-o", "faulthandler_exit_on_timeout=true"),
        *("--pyargs", "tailrace.testing.conformance_cases"),
    ]


def _environment(url: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
    return {**kept, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", STORE_VARIABLE: url}


def _case(element: Xml.Element) -> Case:
    section, name = element.get("classname", "").rpartition(".Test")[2], element.get("name", "")
    # One that failed and failed again while it was cleared away is in the report twice; both are told.
    for tag in ("failure", "error", "skipped"):
        found = element.find(tag)
        if found is not None:
            reason = (found.get("message", "").strip().splitlines() or [""])[0].removeprefix(PREFIX)
            return Case(section, name, "not run" if tag == "skipped" else "failed", reason)
    return Case(section, name, "passed")
