"""Listeners are handed over among greenlets as among threads. Run by patched.py."""

import functools

import pytest
from tests.rollout.colours import Blocking
from tests.rollout.fixtures import Deploy, deployed
from tests.rollout.test_handover import *  # noqa: F403


@pytest.fixture
def deployment() -> Deploy:
    return functools.partial(deployed, Blocking())
