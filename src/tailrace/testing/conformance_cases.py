"""What ``conformance.run`` hands to pytest: the contract, on the store that the environment names."""

import os

import pytest

from tailrace.testing.builtin import under_test
from tailrace.testing.conformance import STORE_VARIABLE
from tailrace.testing.contract import *  # noqa: F403
from tailrace.testing.stores import StoreUnderTest


@pytest.fixture
def store_under_test() -> StoreUnderTest:
    return under_test(os.environ[STORE_VARIABLE])
