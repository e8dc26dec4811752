"""``tailrace conformance``: run the shipped contract cases against a store."""

import importlib
from collections import Counter
from collections.abc import Sequence
from typing import Protocol, cast

from tailrace.cli import output
from tailrace.cli.exits import Code, Stop
from tailrace.cli.options import Json, Store
from tailrace.cli.store import default_url


class Case(Protocol):
    """One sentence of the contract, held against the store: ``passed``, ``failed`` or ``not run``."""

    section: str
    name: str
    outcome: str
    reason: str


class Report(Protocol):
    """What the kit says about a store."""

    store: str
    cases: Sequence[Case]


def conformance(store: Store = None, as_json: Json = False) -> None:
    """Hold a store against the contract, on topics of its own. Takes a minute or two."""
    report = _run(store or default_url())
    failed = [case for case in report.cases if case.outcome == "failed"]
    if as_json:
        for case in report.cases:
            facts = {"section": case.section, "case": case.name, "outcome": case.outcome, "reason": case.reason}
            output.json_line(facts)
    else:
        _show(report)
    # A kit that left everything out has shown nothing.
    if failed or not any(case.outcome == "passed" for case in report.cases):
        raise Stop(Code.CHECK_FAILED, f"{output.count(len(failed), 'case')} of {len(report.cases):,} failed")


def _run(url: str) -> Report:
    try:
        kit = importlib.import_module("tailrace.testing.conformance")
    except ModuleNotFoundError as exc:
        if (exc.name or "").startswith("tailrace"):
            raise
        raise Stop(
            Code.MISSING_EXTRA, f"the contract kit needs the package {exc.name}: pip install 'tailrace[cli,test]'"
        ) from exc
    return cast("Report", kit.run(url))


def _show(report: Report) -> None:
    output.line(output.printable(report.store))
    sections = list(dict.fromkeys(case.section for case in report.cases))
    counts = Counter((case.section, case.outcome) for case in report.cases)
    columns = ("passed", "failed", "not run")
    output.table(
        ("section", *columns),
        ((section, *(str(counts[section, outcome]) for outcome in columns)) for section in sections),
    )
    for case in report.cases:
        if case.outcome != "passed":
            output.line(output.printable(f"{case.outcome}: {case.section}: {case.name}: {case.reason}"))
