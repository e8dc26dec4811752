"""The contract kit as one call: run every case against a store URL, and report by section.

Runs pytest in a process of its own, so that neither its plugins nor the caller's threads meddle. On a
store that keeps data it uses topics with a random prefix, deletes them afterwards, and leaves out what
would touch anything else.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree as Xml

from tailrace.errors import StoreUnusableError
from tailrace.options import parse_url

_STORE_VARIABLE = "TAILRACE_CONFORMANCE_STORE"
_NOT_RUN = "not run: "


@dataclass(frozen=True, slots=True)
class Row:
    """One section of the contract.

    Attributes:
        section: Its name, for example ``Append``.
        passed: Cases that passed.
        failed: Cases that failed, with the first line of what they said.
        not_run: Cases that were left out, with the reason.
    """

    section: str
    passed: int
    failed: tuple[tuple[str, str], ...]
    not_run: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Report:
    """What became of every case.

    Attributes:
        store: The URL, without its password.
        rows: One per section, in the order of their names.
        output: What pytest printed, for whoever must find out why.
    """

    store: str
    rows: tuple[Row, ...]
    output: str

    @property
    def ok(self) -> bool:
        """Whether cases ran and none failed."""
        return any(row.passed for row in self.rows) and not any(row.failed for row in self.rows)


def run(url: str) -> Report:
    """Run the contract kit against the store that a URL names. Takes about a minute; blocks.

    Raises:
        InvalidArgumentError: It is not a store URL.
        StoreUnusableError: The store can not be opened, pytest is not installed, or it could not run the cases at all.
    """
    store = parse_url(url)
    if find_spec("pytest") is None:
        raise StoreUnusableError("the contract kit needs pytest: pip install 'tailrace[test]'")
    # Imported late: it needs pytest.
    from tailrace.testing.builtin import under_test

    reason = under_test(url).unavailable()
    if reason is not None:
        raise StoreUnusableError(reason)
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.xml"
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *_arguments(results, folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=_environment(url),
            text=True,
            check=False,
        )
        # 0: all passed; 1: some failed. Anything else: the run itself went wrong.
        if done.returncode not in (0, 1) or not results.exists():
            raise StoreUnusableError(f"the contract kit did not run: {done.stdout.strip()[-500:]}")
        return Report(store.text, tuple(_rows(Xml.parse(results))), done.stdout)


def _arguments(results: Path, folder: str) -> list[str]:
    # Nothing of the caller's project may change the run: no configuration, no conftest, no cache.
    return [
        *("-c", os.devnull, "--rootdir", folder, "--noconftest", "-p", "no:cacheprovider", "-q"),
        *("-p", "tailrace.testing.plugin", f"--junitxml={results}", "-o", "junit_family=xunit1"),
        *("--pyargs", "tailrace.testing.conformance_cases"),
    ]


def _environment(url: str) -> dict[str, str]:
    # The URL may hold a password, and arguments can be read by everybody.
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
    return {**kept, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", _STORE_VARIABLE: url}


def _rows(results: "Xml.ElementTree[Xml.Element]") -> Iterator[Row]:
    sections: dict[str, list[Xml.Element]] = {}
    for case in results.iter("testcase"):
        sections.setdefault(case.get("classname", "").rpartition(".Test")[2], []).append(case)
    for section, cases in sorted(sections.items()):
        failed = tuple(_said(cases, "failure", "error"))
        not_run = tuple(_said(cases, "skipped"))
        yield Row(section, len(cases) - len(failed) - len(not_run), failed, not_run)


def _said(cases: Sequence[Xml.Element], *outcomes: str) -> Iterator[tuple[str, str]]:
    for case in cases:
        # A case may fail and fail again while it is cleared away: that is still one case.
        found = next((case.find(outcome) for outcome in outcomes if case.find(outcome) is not None), None)
        if found is not None:
            lines = found.get("message", "").strip().splitlines() or [""]
            yield case.get("name", ""), lines[0].removeprefix(_NOT_RUN)
