"""The pytest plugin: ``--require-stores``, and a summary of what was tested on what.

Loaded in every project that has Tailrace installed, so it imports nothing heavy and does nothing
until a case of the kit has run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tailrace.testing.outcome import PREFIX, not_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tailrace.spi import Capabilities
    from tailrace.testing.broadcast.place import PlaceUnderTest
    from tailrace.testing.stores import StoreUnderTest

pytest.register_assert_rewrite(
    "tailrace.testing.broadcast",
    "tailrace.testing.contract",
    "tailrace.testing.reading",
    "tailrace.testing.stores",
)

_STORE = "tailrace-store"
_CAPABILITIES = "tailrace-capabilities"
_seen = pytest.StashKey["Seen"]()


class Seen:
    """What the reports said. Gathered from reports, because cases may run in other processes."""

    def __init__(self) -> None:
        self.capabilities: dict[str, str] = {}
        self.missing: set[str] = set()
        self.not_run: list[tuple[str, str]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the store of a case, and why it was not run."""
        properties = dict(report.user_properties)
        if _STORE in properties and _CAPABILITIES in properties:
            self.capabilities[str(properties[_STORE])] = str(properties[_CAPABILITIES])
        if report.skipped and isinstance(report.longrepr, tuple):
            reason = report.longrepr[2].removeprefix("Skipped: ")
            if reason.startswith(PREFIX):
                self.not_run.append((report.nodeid, reason.removeprefix(PREFIX)))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the one option."""
    parser.getgroup("tailrace").addoption(
        "--require-stores",
        default="",
        metavar="NAMES",
        help="comma-separated stores that the contract kit must have tested: a missing one fails the run",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Start to listen."""
    config.stash[_seen] = Seen()
    config.pluginmanager.register(config.stash[_seen], "tailrace-seen")


@pytest.fixture
def store_under_test() -> StoreUnderTest:
    """The store that the contract kit is to test. Yours to define."""
    raise pytest.UsageError("define a fixture store_under_test that returns a tailrace.testing.stores.StoreUnderTest")


@pytest.fixture
def place_under_test() -> PlaceUnderTest:
    """The place for live messages that the broadcast kit is to test. Yours to define."""
    raise pytest.UsageError(
        "define a fixture place_under_test that returns a tailrace.testing.broadcast.PlaceUnderTest"
    )


@pytest.fixture
def no_leaks() -> Iterator[None]:
    """Fail the test if it leaves threads or file descriptors behind."""
    from tailrace.testing.leaks import no_leaks

    with no_leaks():
        yield


def enroll(request: pytest.FixtureRequest, store: StoreUnderTest) -> None:
    """Make sure that the store of this case is there, and put it into the report."""
    enlist(request, store.name, store.unavailable(), lambda: describe(store.tool.capabilities))


def enlist(request: pytest.FixtureRequest, name: str, missing: str | None, describe: Callable[[], str]) -> None:
    """Make sure that what this case is performed on is not missing, and put it into the report."""
    if missing is not None:
        if name in _required(request.config):
            pytest.fail(f"the required store {name} is missing: {missing}", pytrace=False)
        not_run(f"{name} is missing: {missing}")
    properties = request.node.user_properties
    properties.append((_STORE, name))
    seen = request.config.stash.get(_seen, None)
    if seen is None or name not in seen.capabilities:
        properties.append((_CAPABILITIES, describe()))


def describe(capabilities: Capabilities) -> str:
    """Return what a store declares, in one line."""
    said = [
        capabilities.store,
        "durable" if capabilities.durable else "not durable",
        "shared by processes" if capabilities.shared else "one process",
        f"{capabilities.gap_detection} gap detection",
        "atomic batches" if capabilities.atomic_batches else "batches not atomic",
        "topics can be locked by others" if capabilities.defers else "nobody can lock a topic",
        f"enforces {', '.join(sorted(capabilities.enforces)) or 'nothing'} without a sweep",
        f"gevent {capabilities.gevent}",
        f"fork {capabilities.fork}",
        f"payloads up to {capabilities.max_payload} bytes",
    ]
    return "; ".join(said) + ". " + " ".join((capabilities.durability, *capabilities.notes))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail a run in which a required store was never tested."""
    if session.config.option.collectonly or hasattr(session.config, "workerinput"):
        return
    seen = session.config.stash[_seen]
    seen.missing = _required(session.config) - seen.capabilities.keys()
    if seen.missing and exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the stores, and one line for everything that was not run."""
    seen = config.stash[_seen]
    if not (seen.capabilities or seen.not_run or seen.missing):
        return
    terminalreporter.section("tailrace contract kit")
    for name, said in sorted(seen.capabilities.items()):
        terminalreporter.write_line(f"{name}: {said}")
    for case, reason in seen.not_run:
        terminalreporter.write_line(f"not run: {case}: {reason}")
    for name in sorted(seen.missing):
        terminalreporter.write_line(f"MISSING: {name} is required, and no case ran on it", red=True)


def _required(config: pytest.Config) -> set[str]:
    return {name.strip() for name in str(config.getoption("--require-stores", "")).split(",")} - {""}
