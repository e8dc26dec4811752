"""S20: ten thousand readers come and go, and ten thousand calls are cancelled, and everything is as it was before."""

import pytest

from tailrace.testing.contract.leaks import TestLeaks

__all__ = ["TestLeaks"]

pytestmark = pytest.mark.long


@pytest.fixture
def repeats() -> int:
    """Of the cases about failed enters that lose their place, a tenth."""
    return 10_000
