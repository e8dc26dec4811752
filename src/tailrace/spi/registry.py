"""From a URL scheme to the adapter that serves it. Adapters are imported at first use, never before."""

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, cast

from tailrace.errors import InvalidArgumentError, InvalidTypeError, StoreUnusableError
from tailrace.options import StoreOptions, StoreURL
from tailrace.spi.backend import Backend
from tailrace.spi.broadcasting import Carrier
from tailrace.spi.schema import Schema

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

ENTRY_POINTS = "tailrace.stores"
"""Entry-point group where another distribution names its own: ``scheme = "package.module:open_store"``."""

_BUILT_IN = {
    "memory": "tailrace.backends.memory:open_store",
    "sqlite": "tailrace.backends.sqlite:open_store",
    "redis": "tailrace.backends.redis:open_store",
    "rediss": "tailrace.backends.redis:open_store",
    "redis+cluster": "tailrace.backends.redis:open_store",
    "rediss+cluster": "tailrace.backends.redis:open_store",
    "redis+sentinel": "tailrace.backends.redis:open_store",
    "rediss+sentinel": "tailrace.backends.redis:open_store",
    "unix": "tailrace.backends.redis:open_store",
    "postgresql": "tailrace.backends.postgres:open_store",
    "postgres": "tailrace.backends.postgres:open_store",
    "mysql": "tailrace.backends.mysql:open_store",
    "mariadb": "tailrace.backends.mysql:open_store",
    "nats": "tailrace.backends.nats:open_store",
    "tls": "tailrace.backends.nats:open_store",
    "http": "tailrace.backends.http:open_store",
    "https": "tailrace.backends.http:open_store",
}
_EXTRAS = {scheme: target.split(":")[0].rpartition(".")[2] for scheme, target in _BUILT_IN.items()}
_EXTRAS |= {"http": "client", "https": "client"}

OpenStore = Callable[[StoreURL, StoreOptions], Backend]
OpenEngine = Callable[[object, StoreOptions], Backend]
OpenBroadcast = Callable[[StoreURL, float], Carrier]
OpenSchema = Callable[[StoreURL, StoreOptions], Schema]


def schemes() -> list[str]:
    """Return the URL schemes that ``open_store`` knows."""
    return sorted({*_BUILT_IN, *(point.name for point in _entry_points())})


def open_store(url: StoreURL, options: StoreOptions) -> Backend:
    """Open the store that a URL names.

    Raises:
        InvalidArgumentError: Nobody serves that scheme, or the URL has a setting that the store does not know.
        StoreUnusableError: Its driver is not installed, or the store can not be used; the message says what to do.
    """
    module, name = _adapter(url.scheme)
    return cast("OpenStore", getattr(module, name))(url, options)


def open_engine(engine: object, options: StoreOptions) -> Backend:
    """Open the store in the database that an ``Engine`` of SQLAlchemy, or an ``AsyncEngine``, is for.

    Raises:
        InvalidTypeError: It is no such thing.
        InvalidArgumentError: There is no store in that kind of database, or its driver can not be used.
        StoreUnusableError: The store can not be used; the message says what to do.
    """
    dialect = getattr(getattr(engine, "sync_engine", engine), "dialect", None)
    name = getattr(dialect, "name", None)
    if not isinstance(name, str):
        raise InvalidTypeError(
            f"a store URL must be text, or an Engine of SQLAlchemy in its place, not {type(engine).__name__}"
        )
    opening = getattr(_adapter(name)[0], "open_engine", None) if name in _BUILT_IN else None
    if opening is None:
        raise InvalidArgumentError(f"there is no store in a database of {name} that an engine leads to: pass a URL")
    return cast("OpenEngine", opening)(engine, options)


def open_schema(url: StoreURL, options: StoreOptions) -> Schema:
    """Open the tables of the store that a URL names, whatever their version. Makes nothing.

    Raises:
        InvalidArgumentError: Nobody serves that scheme, or its stores have no tables.
        StoreUnusableError: Its driver is not installed.
    """
    module, _ = _adapter(url.scheme)
    # Beside ``open_store``, in the module that a scheme names.
    opening = getattr(module, "open_schema", None)
    if opening is None:
        raise InvalidArgumentError(f"{url.scheme}:// has no tables: there is nothing to migrate")
    return cast("OpenSchema", opening)(url, options)


def open_broadcast(url: StoreURL, timeout: float) -> Carrier:
    """Open the store that a URL names for live messages. Blocks for ``timeout`` seconds at most.

    Raises:
        InvalidArgumentError: Nobody serves that scheme, its stores carry no live messages, or a setting is wrong.
        StoreUnusableError: Its driver is not installed, or the store can not be used; the message says what to do.
        DurableStreamUnavailableError: The store is away.
    """
    module, _ = _adapter(url.scheme)
    opening = getattr(module, "open_broadcast", None)
    if opening is None:
        raise InvalidArgumentError(f"{url.scheme}:// carries no live messages: use redis:// or memory://")
    return cast("OpenBroadcast", opening)(url, timeout)


def _entry_points() -> "EntryPoints":
    # Here, because to import it takes a fifth of the time that importing Tailrace does, and few need it.
    from importlib import metadata

    return metadata.entry_points(group=ENTRY_POINTS)


def _adapter(scheme: str) -> tuple[ModuleType, str]:
    """Return the module that serves a scheme, and the name of what opens its stores."""
    target = _BUILT_IN.get(scheme)
    if target is None:
        for point in _entry_points():
            if point.name == scheme:
                return importlib.import_module(point.module), point.attr
        raise InvalidArgumentError(f"no store for {scheme}://; known: {', '.join(schemes())}")
    module, _, name = target.partition(":")
    try:
        return importlib.import_module(module), name
    except ModuleNotFoundError as exc:
        if exc.name is not None and exc.name.startswith("tailrace"):
            raise
        extra = _EXTRAS.get(scheme, scheme)
        raise StoreUnusableError(f"{scheme}:// needs the package {exc.name}: pip install 'tailrace[{extra}]'") from exc
