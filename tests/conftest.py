"""What every test may use: the fixtures of the contract kit."""

from tailrace.testing.fixtures import *  # noqa: F403
