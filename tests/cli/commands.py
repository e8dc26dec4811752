"""Running ``tailrace``: as a process of its own, or inside this one."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Protocol

from typer.testing import Result

PATIENCE = 60.0


class Command:
    """Runs ``tailrace`` as its users do, with nothing of this user's own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.environment = {key: os.environ[key] for key in ("PATH", "LANG") if key in os.environ}
        self.environment |= {"HOME": str(home), "XDG_DATA_HOME": str(home / "data"), "TMPDIR": str(home / "tmp")}
        (home / "tmp").mkdir()

    def start(self, *arguments: "str | bytes", **options: object) -> "subprocess.Popen[bytes]":
        settings = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        command = [sys.executable, "-m", "tailrace.cli", *arguments]
        return subprocess.Popen(command, cwd=self.home, env=self.environment, **settings)  # type: ignore[call-overload, no-any-return]

    def __call__(
        self, *arguments: "str | bytes", stdin: bytes | None = None, code: int = 0
    ) -> "subprocess.CompletedProcess[bytes]":
        process = self.start(*arguments, stdin=subprocess.PIPE)
        try:
            out, err = process.communicate(stdin or b"", PATIENCE)
        finally:
            process.kill()
        assert process.returncode == code, (arguments, process.returncode, out, err)
        assert b"Traceback" not in err
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)


class Invoke(Protocol):
    """Runs a command in this process."""

    def __call__(self, *arguments: str, stdin: bytes | None = None, code: int = 0) -> Result: ...
