"""Versions of what takes part, for ``--version`` and ``doctor``."""

import platform
import sqlite3
from importlib import metadata


def tailrace_version() -> str:
    """Return the installed version, or ``unknown`` when run from a tree that is not installed."""
    try:
        return metadata.version("tailrace")
    except metadata.PackageNotFoundError:
        return "unknown"


def versions() -> dict[str, str]:
    """Return the versions of Tailrace, Python, SQLite and the system."""
    return {
        "tailrace": tailrace_version(),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "system": f"{platform.system()} {platform.release()}",
    }
