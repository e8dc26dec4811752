"""What a sqlite:// URL says: which file, and how careful to be."""

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from tailrace.errors import InvalidArgumentError
from tailrace.options import StoreURL

_SYNCHRONOUS = ("full", "normal")


@dataclass(frozen=True, slots=True)
class Location:
    """One database file.

    Attributes:
        path: Absolute and without links, so that every name of the file leads to the same gate.
        synchronous: ``full``: an acknowledged record survives a power cut. ``normal``: it survives the death of
            any process, but a power cut may take the last commits.
    """

    path: str
    synchronous: str = "full"

    @property
    def gate(self) -> str:
        """The side file that holds the lock between processes and the bell."""
        return f"{self.path}-gate"

    @property
    def folder(self) -> str:
        """Where SQLite keeps its log and index, beside the file."""
        return os.path.dirname(self.path)

    def uri(self, mode: str) -> str:
        """Return how sqlite3 is told to open the file."""
        return f"file:{quote(self.path)}?mode={mode}"


def locate(url: StoreURL) -> Location:
    """Read a URL: ``sqlite:///relative.db`` or ``sqlite:////absolute.db``, as SQLAlchemy spells them.

    Raises:
        InvalidArgumentError: No file is named, or a setting is unknown.
    """
    settings = dict(url.query)
    synchronous = settings.pop("synchronous", "full").lower()
    if settings:
        raise InvalidArgumentError(f"sqlite:// has no setting called {min(settings)}; it knows: synchronous")
    if synchronous not in _SYNCHRONOUS:
        raise InvalidArgumentError("synchronous must be full or normal")
    if url.location in ("", "/", "/:memory:", ":memory:"):
        raise InvalidArgumentError(
            "sqlite:// needs a file, like sqlite:///events.db; for a store in memory use memory://"
        )
    if not url.location.startswith("/"):
        raise InvalidArgumentError(
            f"sqlite://{url.location} names a host; for a file here write sqlite:///{url.location}"
        )
    return Location(_resolved(url.location[1:]), synchronous)


def _resolved(path: str) -> str:
    try:
        resolved = str(Path(path).resolve())
        resolved.encode()
    except (OSError, RuntimeError, ValueError) as exc:
        # A loop of links, a NUL character, bytes that are no UTF-8: no file that SQLite could be told to open.
        raise InvalidArgumentError(f"sqlite:// can not use this path: {exc}") from exc
    return resolved
