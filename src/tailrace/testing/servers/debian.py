"""Servers from packages of Debian that nobody installs: unpacked into the virtual environment, and run from there.

``python -m tailrace.testing.servers.fetching`` puts them there, without rights of an administrator. What is here finds
them again.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

PACKAGES: Mapping[str, tuple[str, ...]] = {
    "chromium": ("chromium", "chromium-common"),
    "mariadb": ("mariadb-server", "mariadb-server-core", "mariadb-client-core"),
    # NATS 2.9.
    "nats": ("nats-server",),
    "nginx": ("nginx",),
    # What a driver of MariaDB is built against.
    "mysqlclient": ("libmariadb-dev",),
    "pgbouncer": ("pgbouncer",),
    "postgresql": ("postgresql-15", "postgresql-client-15", "postgresql-15-partman"),
    "redis": ("redis-server", "redis-tools", "lua-bitop", "lua-cjson"),
}
"""Per set, the packages that hold its programs; the libraries that they need come along."""


def home() -> Path:
    """Return the folder of all sets. Only in a virtual environment is it ever written."""
    return Path(sys.prefix) / "debian-servers"


def root(name: str) -> Path:
    """Return where a set stands for ``/``, whether it is there or not."""
    return home() / name


def programs(name: str) -> Iterator[Path]:
    """Yield every program of this name, of any set."""
    for chosen in PACKAGES:
        for folder in ("usr/bin", "usr/sbin", "usr/lib/postgresql/*/bin"):
            for path in sorted(root(chosen).glob(f"{folder}/{name}")):
                if path.is_file() and os.access(path, os.X_OK):
                    yield path


def environment(program: Path) -> dict[str, str]:
    """Return the variables with which a program finds its libraries; none for one that is not from here."""
    if not program.is_relative_to(home()):
        return {}
    return library_path(home() / program.relative_to(home()).parts[0])


def library_path(top: Path) -> dict[str, str]:
    """Return the variables with which programs find the libraries below a folder that stands for ``/``."""
    folders = [str(folder) for pattern in ("usr/lib/*-linux-gnu", "lib/*-linux-gnu") for folder in top.glob(pattern)]
    return {"LD_LIBRARY_PATH": ":".join(folders)} if folders else {}
