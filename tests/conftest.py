"""What every test may use: the fixtures of the contract kit, and the marker of slow tests."""

import pytest

from tailrace.testing.fixtures import *  # noqa: F403


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: takes many seconds; `make test` leaves it out, `make test-long` does not")
