"""Running ``tailrace``, inside this process or as one of its own, in a home with nothing of this user's."""

import contextlib
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tailrace.cli.app import app

PATIENCE = 60.0


@dataclass(frozen=True)
class Ended:
    """A command that ended with the expected status."""

    stdout: bytes
    stderr: bytes


class Command:
    """The command in one home directory, which is also its working directory."""

    def __init__(self, home: Path, patch: pytest.MonkeyPatch) -> None:
        self.home = home
        self._patch = patch
        self._processes: list[subprocess.Popen[bytes]] = []
        (home / "tmp").mkdir()
        patch.chdir(home)
        patch.delenv("TAILRACE_STORE", raising=False)
        self.set(HOME=str(home), XDG_DATA_HOME=str(home / "data"), TMPDIR=str(home / "tmp"))
        patch.setattr("tempfile.tempdir", None)

    def set(self, **variables: str) -> None:
        """Set environment variables for all commands to come."""
        for name, value in variables.items():
            self._patch.setenv(name, value)

    def __call__(self, *arguments: str, stdin: bytes = b"", code: int = 0) -> Ended:
        """Run it inside this process: same code, but for the start of an interpreter."""
        result = CliRunner().invoke(app, list(arguments), input=stdin, prog_name="tailrace")
        assert result.exit_code == code, (arguments, result.exit_code, result.output, result.exception)
        return Ended(result.stdout_bytes, result.stderr_bytes)

    def process(self, *arguments: str | bytes, stdin: bytes = b"", code: int = 0) -> Ended:
        """Run it as its users do."""
        process = self.start(*arguments)
        out, err = process.communicate(stdin, PATIENCE)
        assert process.returncode == code, (arguments, process.returncode, out, err)
        assert b"Traceback" not in err
        return Ended(out, err)

    def start(self, *arguments: str | bytes) -> "subprocess.Popen[bytes]":
        """Start it and let it run; it is gone when the test is."""
        command = [sys.executable, "-m", "tailrace.cli", *arguments]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)
        self._processes.append(process)
        return process

    def end(self) -> None:
        """Kill what still runs and close its pipes."""
        for process in self._processes:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    with contextlib.suppress(BrokenPipeError):
                        stream.close()
