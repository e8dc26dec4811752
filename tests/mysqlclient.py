"""mysqlclient, where somebody has installed it: it has no wheel."""

import importlib

from tailrace.testing.outcome import not_run


def require_mysqlclient() -> None:
    """Leave the test that is running if the driver is not there."""
    try:
        importlib.import_module("MySQLdb")
    except ImportError:
        not_run("mysqlclient is not installed: run `make mysqlclient`")
