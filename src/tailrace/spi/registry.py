"""From a URL scheme to the adapter that serves it. Adapters are imported at first use, never before."""

import importlib
from collections.abc import Callable
from importlib import metadata
from types import ModuleType
from typing import cast

from tailrace.errors import InvalidArgumentError, StoreUnusableError
from tailrace.options import StoreOptions, StoreURL
from tailrace.spi.backend import Backend
from tailrace.spi.schema import Schema

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
    "http": "tailrace.backends.http:open_store",
    "https": "tailrace.backends.http:open_store",
}
_EXTRAS = {scheme: target.split(":")[0].rpartition(".")[2] for scheme, target in _BUILT_IN.items()}
_EXTRAS |= {"http": "client", "https": "client"}

OpenStore = Callable[[StoreURL, StoreOptions], Backend]
OpenSchema = Callable[[StoreURL, StoreOptions], Schema]


def schemes() -> list[str]:
    """Return the URL schemes that ``open_store`` knows."""
    return sorted({*_BUILT_IN, *(point.name for point in metadata.entry_points(group=ENTRY_POINTS))})


def open_store(url: StoreURL, options: StoreOptions) -> Backend:
    """Open the store that a URL names.

    Raises:
        InvalidArgumentError: Nobody serves that scheme, or the URL has a setting that the store does not know.
        StoreUnusableError: Its driver is not installed, or the store can not be used; the message says what to do.
    """
    module, name = _adapter(url.scheme)
    return cast("OpenStore", getattr(module, name))(url, options)


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


def _adapter(scheme: str) -> tuple[ModuleType, str]:
    """Return the module that serves a scheme, and the name of what opens its stores."""
    target = _BUILT_IN.get(scheme)
    if target is None:
        for point in metadata.entry_points(group=ENTRY_POINTS, name=scheme):
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
