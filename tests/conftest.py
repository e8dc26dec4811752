"""What every test may use: the fixtures of the contract kit. Tests of a server that is not here are named, not run."""

import gc
from collections.abc import Generator

import pytest

from tailrace.testing.fixtures import *  # noqa: F403
from tailrace.testing.outcome import not_run
from tailrace.testing.servers import ServerMissingError


def pytest_collection_finish() -> None:
    """Leave the tests themselves out of every later collection of garbage: many cases collect, and tests are many."""
    gc.collect()
    gc.freeze()


# Around the tests and not around fixtures: what a shared one raised is raised again for whoever asks for it next.
@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, object, object]:
    """Leave a test out if it needs a server that can not be had; a run that requires the store fails at its end."""
    try:
        return (yield)
    except ServerMissingError as missing:
        not_run(str(missing))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """As before a test, for one that starts its server itself."""
    try:
        return (yield)
    except ServerMissingError as missing:
        not_run(str(missing))
