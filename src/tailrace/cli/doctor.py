"""``tailrace doctor``: what a store can do, what to mind about it, and whether a record survives the trip."""

from typing import Any

from tailrace.cli import output
from tailrace.cli.exits import Code, Stop
from tailrace.cli.options import Json, Store
from tailrace.cli.round_trip import round_trip
from tailrace.cli.store import default_url, open_client
from tailrace.cli.store_facts import capabilities, limits_of, warnings
from tailrace.cli.versions import versions
from tailrace.errors import DurableStreamError, InvalidArgumentError
from tailrace.options import parse_url
from tailrace.units import human_bytes


def doctor(store: Store = None, as_json: Json = False) -> None:
    """Examine a store, and pass one record through it on a topic of its own, deleted afterwards."""
    url = parse_url(store or default_url())
    report: dict[str, Any] = {"store": url.text, "versions": versions(), "problems": []}
    try:
        _examine(store, report)
    except InvalidArgumentError:
        raise
    except DurableStreamError as exc:
        report["problems"].append(str(exc))
    report["healthy"] = not report["problems"]
    if as_json:
        output.json_line(report)
    else:
        _show(report)
    if report["problems"]:
        raise Stop(Code.CHECK_FAILED)


def _examine(store: str | None, report: dict[str, Any]) -> None:
    with open_client(store, writes=False) as client:
        report["capabilities"] = capabilities(client.capabilities)
        report["limits"] = limits_of(client.capabilities)
        found = client.maintenance.examine()
        report["facts"], report["sizes"] = dict(found.facts), dict(found.sizes)
        report["warnings"] = [*warnings(client.capabilities), *found.warnings]
        report["unread"] = list(found.unread)
        report["round_trip"] = round_trip(client)


def _show(report: dict[str, Any]) -> None:
    output.line(f"{'store':<16} {output.printable(report['store'])}")
    for name, version in report["versions"].items():
        _fact(name, version)
    for name, value in {**report.get("capabilities", {}), **report.get("limits", {})}.items():
        _fact(name, value)
    for name, value in report.get("facts", {}).items():
        _fact("setting", f"{name} = {value}")
    for name, size in report.get("sizes", {}).items():
        _fact("size", f"{human_bytes(size)}  {name}")
    for name, took in report.get("round_trip", {}).items():
        _fact(name, f"{took * 1000:.1f} ms")
    for warning in report.get("warnings", ()):
        output.line(f"warning: {output.printable(warning)}")
    for unread in report.get("unread", ()):
        output.line(f"not examined: {output.printable(unread)}")
    for problem in report["problems"]:
        output.line(f"problem: {output.printable(problem)}")
    output.line("something is wrong" if report["problems"] else "all is well")


def _fact(name: str, value: object) -> None:
    if isinstance(value, list | tuple):
        for item in value:
            _fact(name, item)
        return
    text = {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
    output.line(f"{name.replace('_', ' '):<16} {output.printable(text)}")
