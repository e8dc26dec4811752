"""Which store a command works on, and opening it."""

from pathlib import Path
from urllib.parse import quote

import platformdirs
from typing_extensions import Unpack

import tailrace
from tailrace.errors import StoreUnusableError
from tailrace.options import parse_url


def open_client(url: str | None, *, writes: bool, **options: Unpack[tailrace.ConnectOptions]) -> tailrace.StreamClient:
    """Open the store of ``--store``, or the user's own one.

    Args:
        url: What the user named, a store or a server; ``None`` or empty for the default.
        writes: Whether the command is meant to put something into the store. A store that was named is
            created only then: a mistyped URL must not leave an empty file behind. The default one always
            is, so that a reader may be started before the first writer.
        options: Of ``tailrace.connect``.

    Raises:
        InvalidArgumentError, DurableStreamUnavailableError: As ``tailrace.connect``.
    """
    if not url or not _is_server(url):  # a server decides by itself, and refuses to be told
        options["create"] = writes or not url
    return tailrace.connect(url or default_url(), **options)


def default_url() -> str:
    """Return the URL of the user's own store, creating its directory."""
    directory = platformdirs.user_data_path("tailrace", appauthor=False)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise StoreUnusableError(
            f"the data directory {directory} can not be made ({exc.strerror}): "
            "name a store with --store or TAILRACE_STORE"
        ) from exc
    return sqlite_url(directory / "events.db")


def _is_server(url: str) -> bool:
    return parse_url(url).scheme in ("http", "https")


def sqlite_url(path: Path) -> str:
    """Return the URL of a SQLite file."""
    return "sqlite:///" + quote(str(path.absolute()))
