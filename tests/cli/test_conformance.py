"""``conformance``: what the kit found, as a table and as a status."""

import json
import sys
from dataclasses import dataclass, field
from types import ModuleType

import pytest
from tests.cli.commands import Command

from tailrace.cli.exits import Code


@dataclass
class Case:
    section: str
    name: str
    outcome: str
    reason: str = ""


@dataclass
class Report:
    store: str
    cases: list[Case] = field(default_factory=list)


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch) -> Report:
    """What the kit is going to say, instead of minutes of real cases."""
    said = Report("sqlite 3; durable", [Case("Seal", "one", "passed"), Case("Start", "two", "not run", "no clock")])
    kit = ModuleType("tailrace.testing.conformance")
    kit.run = lambda url: said  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, kit.__name__, kit)
    return said


def test_a_store_that_conforms_gets_a_table(run: Command, report: Report) -> None:
    assert run("conformance", "--store", "memory://").stdout.decode().splitlines() == [
        "sqlite 3; durable",
        "section\tpassed\tfailed\tnot run",
        "Seal\t1\t0\t0",
        "Start\t0\t0\t1",
        "not run: Start: two: no clock",
    ]


def test_a_case_that_failed_fails_the_command(run: Command, report: Report) -> None:
    report.cases.append(Case("Seal", "three", "failed", "accepted\nafter it"))
    ended = run("conformance", "--store", "memory://", "--json", code=Code.CHECK_FAILED)
    last = json.loads(ended.stdout.splitlines()[-1])
    assert last == {"section": "Seal", "case": "three", "outcome": "failed", "reason": "accepted\nafter it"}
    assert b"1 case of 3 failed" in ended.stderr
    assert b"accepted\\nafter it" in run("conformance", "--store", "memory://", code=Code.CHECK_FAILED).stdout


def test_nothing_examined_is_not_called_good(run: Command, report: Report) -> None:
    del report.cases[0]
    run("conformance", "--store", "memory://", code=Code.CHECK_FAILED)


def test_without_the_extra_one_sentence_says_what_to_install(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> ModuleType:
        raise ModuleNotFoundError(f"No module named {name}", name="pytest")

    monkeypatch.setattr("tailrace.cli.conformance.importlib.import_module", missing)
    ended = run("conformance", "--store", "memory://", code=Code.MISSING_EXTRA)
    assert ended.stderr == b"tailrace: the contract kit needs the package pytest: pip install 'tailrace[cli,test]'\n"
