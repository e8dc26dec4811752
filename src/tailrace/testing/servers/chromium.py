"""Chromium without a screen, for what only a browser can show. It is told what to do by the page that it opens."""

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from typing_extensions import override

from tailrace.testing.servers import debian
from tailrace.testing.servers.errors import ServerMissingError
from tailrace.testing.servers.process import ServerProcess
from tailrace.testing.servers.started import Started
from tailrace.testing.servers.wheels import programs_on_path

OPTIONS = (
    "--headless=new",
    # Neither user namespaces nor a graphics card nor a large /dev/shm are there wherever tests run.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    # Nothing that is no test.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-crash-reporter",
    "--disable-extensions",
    "--disable-sync",
    "--no-default-browser-check",
    "--no-first-run",
    # A page that nobody looks at is as fast as any other.
    "--disable-background-timer-throttling",
    "--disable-renderer-backgrounding",
)


class Chromium(Started):
    """A browser that opens one page. A context manager that starts and removes it; not thread-safe.

    Args:
        url: Of the page.

    Raises:
        ServerMissingError: There is no Chromium here.
    """

    def __init__(self, url: str) -> None:
        self._program, self._variables = find()
        self._url = url
        self.folder = Path(tempfile.mkdtemp(prefix="tailrace-chromium-"))
        self._process: ServerProcess | None = None

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._process is not None and self._process.alive

    def log_end(self) -> str:
        """Return the end of its output, for messages."""
        return "it was never started" if self._process is None else self._process.log_end()

    @override
    def start(self) -> None:
        """Start it; the page is opened some seconds later."""
        self._process = ServerProcess(
            [str(self._program), *OPTIONS, f"--user-data-dir={self.folder / 'profile'}", self._url],
            folder=self.folder,
            log=self.folder / "chromium.log",
            environment={**self._variables, "HOME": str(self.folder), "TMPDIR": str(self.folder)},
        )

    @override
    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def find() -> tuple[Path, Mapping[str, str]]:
    """Return the program, and the variables that it needs.

    Raises:
        ServerMissingError: There is no Chromium here.
    """
    top = debian.root("chromium")
    # What Debian has on the path is a script that looks for the program where it is not.
    program = top / "usr/lib/chromium/chromium"
    if program.is_file():
        found = debian.library_path(top)["LD_LIBRARY_PATH"]
        # A library of a library, which looks for it below its own folder.
        pulse = ":".join(map(str, top.glob("usr/lib/*-linux-gnu/pulseaudio")))
        return program, {"LD_LIBRARY_PATH": f"{found}:{pulse}"}
    for program in programs_on_path("chromium"):
        return program, {}
    raise ServerMissingError("no chromium is here: run `make servers`, or install chromium from your distribution")
