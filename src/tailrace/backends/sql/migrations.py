"""The numbered scripts that bring a schema from release to release. Forward only."""

import functools
from importlib import resources
from typing import NamedTuple


class Migration(NamedTuple):
    """One step: the version that it leads to, and its statements."""

    version: int
    script: str


@functools.cache
def found_in(package: str) -> tuple[Migration, ...]:
    """Return every migration of a store, in order, from the folder ``migrations`` of its package."""
    folder = resources.files(package).joinpath("migrations")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return tuple(Migration(int(name[:4]), folder.joinpath(name).read_text(encoding="utf-8")) for name in names)
