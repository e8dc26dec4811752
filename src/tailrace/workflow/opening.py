"""From a URL to what serves its runs, for both colours. What needs a driver is imported at first use."""

import importlib
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, cast

from tailrace import opening
from tailrace.arguments import known_options
from tailrace.errors import InvalidArgumentError, InvalidTypeError, StoreUnusableError
from tailrace.opening import ConnectOptions
from tailrace.options import positive_seconds
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.service import Service
from tailrace.workflow.settings import WorkflowSettings

if TYPE_CHECKING:
    from types import ModuleType

E = TypeVar("E")

TIMEOUT = 10.0
"""Seconds that a call may take, apart from what it waits for items."""

_REMOTE = ("http://", "https://")


class WorkflowOptions(TypedDict, total=False):
    """Keyword arguments of ``connect``.

    Attributes:
        token: Over HTTP: what lets us in. Without it, ``TAILRACE_KEY`` of the environment is taken.
        timeout: Seconds that a call may take (10), apart from what it waits for items.
        create: For a database: whether a missing one, or missing tables, may be made. By default an embedded one is.
        settings: For a database: which runs there are, and for how long. By default those of this namespace, each from
            its first append on, until somebody deletes it.
    """

    token: str | None
    timeout: float
    create: bool | None
    settings: WorkflowSettings | None


def open_service(url: str, options: WorkflowOptions, namespace: str) -> Service:
    """Open what a URL names. Blocks on it.

    Raises:
        InvalidArgumentError: The URL or an option is wrong, or that store can not hold runs.
        StoreUnusableError: It can not be used as it is; the message says what to do.
        DurableStreamUnavailableError: It is away.
    """
    checked = checked_options(url, options)
    if is_remote(url):
        return cast("Service", remote().open_service(url, token=checked["token"], timeout=checked["timeout"]))
    return open_embedded(url, checked, namespace)


def open_embedded(url: str, checked: dict[str, Any], namespace: str) -> EmbeddedService:
    """Open a database's runs in this process. Blocks on it.

    Raises:
        As ``open_service``.
    """
    asked: ConnectOptions = {"append_timeout": checked["timeout"], "create": checked["create"]}
    backend, engine_options = opening.open_backend(url, asked)
    # A database knows no list of namespaces: whoever opens it says which ones there are.
    settings = checked["settings"] or WorkflowSettings(namespaces=frozenset({namespace}))
    try:
        return EmbeddedService(backend, settings, options=engine_options)
    except BaseException:
        backend.close()
        raise


def embedded(service: object, kind: type[E]) -> E:
    """Return a service that can open topics.

    Args:
        kind: What such a one is, in the caller's colour.

    Raises:
        InvalidArgumentError: This one can not.
    """
    if not isinstance(service, kind):
        raise InvalidArgumentError("a stream can be opened as a topic only where its database is, not over HTTP")
    return service


def remote() -> "ModuleType":
    """Return the module of services over HTTP.

    Raises:
        StoreUnusableError: What it needs is not installed.
    """
    try:
        return importlib.import_module("tailrace.workflow.remote")
    except ModuleNotFoundError as exc:
        if exc.name is not None and exc.name.startswith("tailrace"):
            raise
        raise StoreUnusableError(f"http:// needs the package {exc.name}: pip install 'tailrace[client]'") from exc


def is_remote(url: object) -> bool:
    """Whether a URL names a server that serves runs, rather than a database.

    Raises:
        InvalidTypeError: It is not text.
    """
    if not isinstance(url, str):
        raise InvalidTypeError(f"a URL must be text, not {type(url).__name__}")
    return url.lower().startswith(_REMOTE)


def checked_options(url: str, options: WorkflowOptions) -> dict[str, Any]:
    """Return all options.

    Raises:
        InvalidArgumentError: There is no such option, or not here, or not with that value.
    """
    known_options("connect", options, WorkflowOptions.__annotations__)
    given = {"token": None, "timeout": TIMEOUT, "create": None, "settings": None} | options
    positive_seconds("timeout", given["timeout"])
    if given["token"] is not None and not isinstance(given["token"], str):
        raise InvalidTypeError("token must be text")
    if given["settings"] is not None and not isinstance(given["settings"], WorkflowSettings):
        raise InvalidTypeError(f"settings must be WorkflowSettings, not {type(given['settings']).__name__}")
    if is_remote(url):
        for name in ("create", "settings"):
            if given[name] is not None:
                raise InvalidArgumentError(f"{name} is for databases: a server decides about what it serves")
    elif given["token"] is not None:
        raise InvalidArgumentError("token is for http:// and https://: a database is let into by its URL")
    return dict(given)
