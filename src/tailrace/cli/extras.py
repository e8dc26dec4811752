"""Saying in one sentence that an extra is missing."""

import importlib

from tailrace.cli.exits import Code, Stop

_SERVER = ("uvicorn", "uvloop", "httptools", "starlette", "cryptography", "jwt")


def need_server(what: str) -> None:
    """End the command if a part of the extra ``server`` is not installed."""
    for part in _SERVER:
        try:
            importlib.import_module(part)
        except ModuleNotFoundError:
            raise Stop(Code.MISSING_EXTRA, f"{what} needs {part}: pip install 'tailrace[server]'") from None
