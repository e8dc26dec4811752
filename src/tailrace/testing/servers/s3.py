"""A server that speaks S3 and keeps everything in memory: that of the package moto."""

import importlib.util
import sys
import urllib.request
from collections.abc import Sequence

from typing_extensions import override

from tailrace.testing.servers.errors import ServerMissingError
from tailrace.testing.servers.node import ServerNode
from tailrace.testing.servers.ports import LOOPBACK
from tailrace.testing.servers.waiting import listens

_NEEDED = ("moto", "flask", "flask_cors")


class S3Server(ServerNode):
    """An S3-compatible store on a free port of the loopback, without buckets. A restart finds it empty.

    A context manager that starts and removes it; not thread-safe. It believes any credentials.

    Raises:
        ServerMissingError: What it needs is not installed.
    """

    def __init__(self) -> None:
        for package in _NEEDED:
            if importlib.util.find_spec(package) is None:
                raise ServerMissingError(f"no S3 server is here: pip install 'moto[s3]' flask flask-cors ({package})")
        super().__init__("s3")

    @property
    def endpoint(self) -> str:
        """Where clients find it."""
        return f"http://{LOOPBACK}:{self.port}"

    def make_bucket(self, name: str) -> None:
        """Make an empty bucket."""
        request = urllib.request.Request(f"{self.endpoint}/{name}", method="PUT")
        with urllib.request.urlopen(request, timeout=30):
            pass

    @override
    def _command(self, *options: str) -> Sequence[str]:
        return [sys.executable, "-m", "moto.server", "-H", LOOPBACK, "-p", str(self.port), *options]

    @override
    def _serves(self) -> bool:
        return listens(self.address)
