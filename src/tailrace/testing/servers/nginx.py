"""nginx as a proxy in front of servers under test: what is not said here is as nginx has it by default."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from typing_extensions import override

from tailrace.testing.servers import debian
from tailrace.testing.servers.errors import ServerMissingError
from tailrace.testing.servers.node import ServerNode
from tailrace.testing.servers.ports import LOOPBACK
from tailrace.testing.servers.waiting import listens
from tailrace.testing.servers.wheels import programs_on_path

_NAME = "nginx"
_TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")

_FILE = """\
daemon off;
# One process: a worker would outlive a master that is killed.
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  {temporary}
  {settings}
  upstream behind {{ {upstreams} }}
  server {{
    listen {host}:{port};
    location / {{ proxy_pass http://behind; {location} }}
  }}
}}
"""


class Nginx(ServerNode):
    """A proxy on a free port of the loopback. A context manager that starts and removes it; not thread-safe.

    Args:
        ports: Of the servers behind it, on the loopback; taken in turn.
        settings: Directives for everything, such as ``gzip on``.
        location: Directives for what is passed on.
        upstream: Parameters of each server behind it, such as ``max_fails=0``.

    Raises:
        ServerMissingError: There is no nginx here.
    """

    def __init__(
        self,
        ports: Sequence[int],
        *,
        settings: Sequence[str] = (),
        location: Sequence[str] = (),
        upstream: str = "",
    ) -> None:
        self._program = _find()
        super().__init__(_NAME)
        self._upstreams = " ".join(f"server {LOOPBACK}:{port} {upstream};" for port in ports)
        self._settings = " ".join(f"{line};" for line in settings)
        self._location = " ".join(f"{line};" for line in location)

    @property
    def url(self) -> str:
        """Where clients find it."""
        return f"http://{LOOPBACK}:{self.port}"

    @override
    def _command(self, *options: str) -> Sequence[str]:
        file = self.folder / "nginx.conf"
        file.write_text(
            _FILE.format(
                folder=self.folder,
                host=LOOPBACK,
                port=self.port,
                temporary=" ".join(f"{kind}_temp_path {self.folder}/{kind};" for kind in _TEMPORARY),
                settings=self._settings,
                upstreams=self._upstreams,
                location=self._location,
            ),
            encoding="utf-8",
        )
        return [str(self._program), "-p", str(self.folder), "-e", str(self.folder / "error.log"), "-c", str(file)]

    @override
    def _environment(self) -> Mapping[str, str]:
        return debian.environment(self._program)

    @override
    def _serves(self) -> bool:
        return listens(self.address)


def _find() -> Path:
    for program in (*debian.programs(_NAME), *programs_on_path(_NAME), Path("/usr/sbin", _NAME)):
        if program.is_file():
            return program
    raise ServerMissingError("no nginx is here: run `make servers`, or install nginx from your distribution")
