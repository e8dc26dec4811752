"""``tailrace serve``: topics over HTTP until a signal ends it. Refuses to be open to others without authentication."""

import importlib
import logging
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tailrace.cli import output, units
from tailrace.cli.exits import Code, Stop
from tailrace.cli.options import Store
from tailrace.cli.store import default_url
from tailrace.opening import open_backend
from tailrace.tokens import KeyRing
from tailrace.tokens.ring import KEYS_VARIABLE

if TYPE_CHECKING:
    from tailrace.server import Application, ServerSettings

_PARTS = ("uvicorn", "uvloop", "httptools", "starlette", "cryptography", "jwt")

Host = Annotated[str, typer.Option("--host", metavar="HOST", help="The address to listen on.")]
Port = Annotated[int, typer.Option("--port", metavar="N", min=0, max=65535, help="The port; 0 is any that is free.")]
Uds = Annotated[Path | None, typer.Option("--uds", metavar="PATH", show_default=False,
    help="Listen on a socket in the file system instead.")]  # fmt: skip
Keys = Annotated[Path | None, typer.Option("--keys", metavar="FILE", envvar="TAILRACE_TOKEN_KEYS_FILE",
    show_default=False, help="Keys of resume tokens, the same in all replicas: see tailrace keys.")]  # fmt: skip
Audience = Annotated[str, typer.Option("--audience", metavar="NAME", envvar="TAILRACE_AUDIENCE",
    help="Name of this deployment: tokens of another are refused.")]  # fmt: skip
Grace = Annotated[float, typer.Option("--grace", parser=units.seconds, metavar="DURATION",
    help="The process ends this long after SIGTERM, whatever hangs.")]  # fmt: skip
AccessLog = Annotated[bool, typer.Option("--access-log", help="Log each request, without tickets and tokens.")]


def serve(
    host: Host = "127.0.0.1",
    port: Port = 8080,
    uds: Uds = None,
    keys: Keys = None,
    audience: Audience = "tailrace",
    grace: Grace = "20",  # type: ignore[assignment]
    access_log: AccessLog = False,
    store: Store = None,
) -> None:
    """Serve topics over HTTP. SIGTERM ends all streams, to be resumed with another replica, and then the process."""
    for part in _PARTS:
        try:
            importlib.import_module(part)
        except ModuleNotFoundError:
            raise Stop(Code.MISSING_EXTRA, f"serving needs {part}: pip install 'tailrace[server]'") from None
    from tailrace.server import ServerSettings, listening, process

    is_private = uds is not None or listening.is_loopback(host)
    if not is_private:
        raise Stop(
            Code.USAGE, f"{host} is open to others and nothing says who may do what: give --access, or --host 127.0.0.1"
        )
    ring = _ring(keys, is_private)
    settings = ServerSettings(audience=audience)
    logging.basicConfig(
        level=logging.INFO if access_log else logging.WARNING, format="%(levelname)s %(name)s %(message)s"
    )
    listener = _listener(host, port, uds)
    with listener:
        application = _application(store, ring, settings)
        # On its own line and at once: with --port 0 somebody waits to read the port from it.
        output.line(f"listening on {listening.url_of(listener)}")
        output.flush()
        process.serve(application, application, listener, grace=grace, access_log=access_log)


def _ring(path: Path | None, is_private: bool) -> KeyRing:
    if path is not None:
        return KeyRing.from_file(path)
    if os.environ.get(KEYS_VARIABLE):
        return KeyRing.from_environment()
    if not is_private:
        raise Stop(
            Code.USAGE,
            "give the keys of resume tokens, the same to all replicas: --keys FILE, made by tailrace keys new",
        )
    output.note("no --keys: resume tokens are good until this process ends")
    return KeyRing.new()


def _listener(host: str, port: int, uds: Path | None) -> socket.socket:
    from tailrace.server import listening

    try:
        return listening.listen_at(uds) if uds is not None else listening.listen(host, port)
    except OSError as error:
        where = str(uds) if uds is not None else f"{host} port {port}"
        raise Stop(Code.NOT_LISTENING, f"{where} can not be listened on: {error.strerror}") from error


def _application(store: str | None, ring: KeyRing, settings: "ServerSettings") -> "Application":
    from tailrace.server import Application

    backend, options = open_backend(store or default_url(), {})
    return Application(backend, ring, settings=settings, options=options)
