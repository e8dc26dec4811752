"""Which MariaDB server can be started here: one named by hand, Debian's, one that is installed."""

import functools
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tailrace.testing.servers import debian
from tailrace.testing.servers.commands import version_line
from tailrace.testing.servers.errors import ServerMissingError
from tailrace.testing.servers.wheels import programs_on_path

VARIABLE = "TAILRACE_MARIADBD"
"""The absolute path of a ``mariadbd``; that server is then the one that tests get."""

_NAME = "mariadbd"
_INSTALL = f"run `make servers`, install mariadb-server from your distribution, or set {VARIABLE} to its mariadbd"
_VERSION = re.compile(r"Ver (\d+)\.(\d+)\.(\d+)")


@dataclass(frozen=True)
class Flavour:
    """One server program.

    Attributes:
        version: Three numbers.
        binary: The absolute path of ``mariadbd``.
    """

    version: tuple[int, int, int]
    binary: Path

    @property
    def name(self) -> str:
        """Such as ``mariadb-10.11.19``."""
        return f"mariadb-{'.'.join(map(str, self.version))}"

    @property
    def base(self) -> Path:
        """The folder that has ``bin``, ``sbin`` and ``share`` of it."""
        return self.binary.parent.parent

    @property
    def top(self) -> Path:
        """The folder that holds everything the program needs."""
        if self.binary.is_relative_to(debian.home()):
            return debian.root(self.binary.relative_to(debian.home()).parts[0])
        return self.base

    def __str__(self) -> str:
        return f"{self.name} ({self.binary})"


def flavour(*, at_least: tuple[int, ...] = ()) -> Flavour:
    """Return the first server that fits. Blocks for some milliseconds the first time.

    Raises:
        ServerMissingError: There is none.
    """
    found = []
    for binary in _candidates():
        version = _version(binary)
        if version is not None:
            found.append(Flavour(version, binary))
            if version >= at_least:
                return found[-1]
    needs = f"MariaDB >= {'.'.join(map(str, at_least))}" if at_least else "MariaDB"
    raise ServerMissingError(f"no server here is {needs} (found: {', '.join(map(str, found)) or 'none'}): {_INSTALL}")


def _candidates() -> Iterator[Path]:
    chosen = os.environ.get(VARIABLE)
    if chosen:
        yield Path(chosen)
        return
    yield from debian.programs(_NAME)
    yield from (path.resolve() for path in programs_on_path(_NAME))
    # Where distributions put it, on nobody's path but root's.
    yield Path("/usr/sbin", _NAME)


@functools.cache
def _version(binary: Path) -> tuple[int, int, int] | None:
    version = _VERSION.search(version_line(binary, "--no-defaults"))
    return None if version is None else (int(version[1]), int(version[2]), int(version[3]))
