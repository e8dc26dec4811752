"""From a URL scheme to the adapter that serves it. Adapters are imported at first use, never before."""

import importlib
from collections.abc import Callable
from importlib import metadata
from typing import cast

from tailrace.errors import InvalidArgumentError, StoreUnusableError
from tailrace.options import StoreOptions, StoreURL
from tailrace.spi.backend import Backend

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
    "postgresql": "tailrace.backends.postgres:open_store",
    "postgres": "tailrace.backends.postgres:open_store",
    "unix": "tailrace.backends.redis:open_store",
    "mysql": "tailrace.backends.mysql:open_store",
    "mariadb": "tailrace.backends.mysql:open_store",
}
_EXTRAS = {scheme: target.split(":")[0].rpartition(".")[2] for scheme, target in _BUILT_IN.items()}

OpenStore = Callable[[StoreURL, StoreOptions], Backend]


def schemes() -> list[str]:
    """Return the URL schemes that ``open_store`` knows."""
    return sorted({*_BUILT_IN, *(point.name for point in metadata.entry_points(group=ENTRY_POINTS))})


def open_store(url: StoreURL, options: StoreOptions) -> Backend:
    """Open the store that a URL names.

    Raises:
        InvalidArgumentError: Nobody serves that scheme, or the URL has a setting that the store does not know.
        StoreUnusableError: Its driver is not installed, or the store can not be used; the message says what to do.
    """
    return _factory(url.scheme)(url, options)


def _factory(scheme: str) -> OpenStore:
    target = _BUILT_IN.get(scheme)
    if target is None:
        for point in metadata.entry_points(group=ENTRY_POINTS, name=scheme):
            return cast("OpenStore", point.load())
        raise InvalidArgumentError(f"no store for {scheme}://; known: {', '.join(schemes())}")
    module, _, name = target.partition(":")
    try:
        return cast("OpenStore", getattr(importlib.import_module(module), name))
    except ModuleNotFoundError as exc:
        if exc.name is not None and exc.name.startswith("tailrace"):
            raise
        extra = _EXTRAS.get(scheme, scheme)
        raise StoreUnusableError(f"{scheme}:// needs the package {exc.name}: pip install 'tailrace[{extra}]'") from exc
