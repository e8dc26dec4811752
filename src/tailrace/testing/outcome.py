"""The third outcome of a case: it was not run, and the report says why."""

from typing import NoReturn

import pytest

PREFIX = "not run: "
"""How the plugin tells such a case from any other skipped test."""


def not_run(reason: str) -> NoReturn:
    """Leave the case that is running; the summary prints ``reason`` in one line."""
    pytest.skip(PREFIX + reason)
