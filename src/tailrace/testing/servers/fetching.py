"""Fetches the packages of ``debian.py``: ``python -m tailrace.testing.servers.fetching [SET...]``.

For the Makefile. Needs no rights of an administrator and installs nothing: packages are downloaded and unpacked. Where
that can not be done, one sentence says so and the tests of those servers say what is missing.
"""

import contextlib
import fcntl
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tailrace.testing.servers.debian import PACKAGES, home, root

_STAMP = ".packages"
_PATIENCE = 600.0
_NO_LIBRARY = re.compile(r"llvm|perl|-bin$|-dev$|-common$")


def main(wanted: Sequence[str]) -> None:
    """Fetch these sets, or all. Idempotent; two at once wait for each other."""
    if missing := _obstacle():
        _say(f"no servers from Debian packages: {missing}")
        return
    home().mkdir(exist_ok=True)
    with _alone():
        for name in wanted or PACKAGES:
            if not _is_there(name):
                _fetch(name)


def _obstacle() -> str | None:
    if sys.prefix == sys.base_prefix:
        return "they are kept in a virtual environment, and this is none"
    absent = [tool for tool in ("apt-get", "dpkg-deb") if shutil.which(tool) is None]
    return f"there is no {' and no '.join(absent)}" if absent else None


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    with (home() / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _is_there(name: str) -> bool:
    stamp = root(name) / _STAMP
    return stamp.is_file() and stamp.read_text(encoding="utf-8").split() == list(PACKAGES[name])


def _fetch(name: str) -> None:
    # In the same folder, so that it can be renamed: nobody finds a half of it.
    with tempfile.TemporaryDirectory(dir=home(), prefix=".fetch-") as folder:
        scratch = Path(folder)
        # Readable for the user whom a server that root starts becomes.
        scratch.chmod(0o755)
        try:
            packages = _download(PACKAGES[name], scratch)
            tree = scratch / "tree"
            for package in packages:
                _run("dpkg-deb", "-x", str(package), str(tree))
        except (OSError, subprocess.SubprocessError) as failed:
            _say(f"no {name} from Debian packages: {_reason(failed)}")
            return
        (tree / _STAMP).write_text("\n".join(PACKAGES[name]), encoding="utf-8")
        if root(name).exists():
            root(name).rename(scratch / "former")
        tree.rename(root(name))


def _download(packages: Sequence[str], scratch: Path) -> list[Path]:
    try:
        return _download_listed(packages, scratch, ())
    except subprocess.SubprocessError:
        # The machine has no lists of packages, or its lists are older than what the archive still has.
        own = (f"Dir::State::Lists={scratch / 'lists'}", f"Dir::Cache={scratch / 'cache'}")
        (scratch / "lists" / "partial").mkdir(parents=True)
        (scratch / "cache" / "archives" / "partial").mkdir(parents=True)
        # Sources that have nothing to do with this may be out of reach: what counts is the download.
        with contextlib.suppress(subprocess.CalledProcessError):
            _apt(scratch, own, "update")
        return _download_listed(packages, scratch, own)


def _download_listed(packages: Sequence[str], scratch: Path, options: Sequence[str]) -> list[Path]:
    plan = _apt(scratch, options, "--simulate", "--no-install-recommends", "install", *packages)
    needed = {line.split()[1] for line in plan.splitlines() if line.startswith("Inst ")}
    names = [*packages, *sorted(name for name in needed - set(packages) if _is_library(name))]
    _apt(scratch, options, "download", *names)
    return sorted(scratch.glob("*.deb"))


def _is_library(package: str) -> bool:
    # Without the C library, which has to fit the machine's loader, and without the compiler that PostgreSQL uses for
    # long queries, which is large, loaded on demand, and switched off.
    return package.startswith("lib") and not (package.startswith("libc6") or _NO_LIBRARY.search(package))


def _apt(folder: Path, options: Sequence[str], *words: str) -> str:
    # The sandbox is for downloads of root into folders of root, and this one belongs to whoever runs it.
    always = ("APT::Sandbox::User=", "Acquire::Retries=2", "Acquire::http::Timeout=30", "Dir::Cache::pkgcache=")
    return _run("apt-get", "-q", *(f"-o{option}" for option in (*always, *options)), *words, folder=folder)


def _run(*command: str, folder: Path | None = None) -> str:
    done = subprocess.run(
        command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_PATIENCE, check=True
    )
    return done.stdout


def _reason(failed: Exception) -> str:
    if isinstance(failed, subprocess.CalledProcessError):
        lines = [line for line in str(failed.stderr).splitlines() if line.startswith("E:")] or [str(failed)]
        return lines[0].removeprefix("E: ")
    return str(failed)


def _say(sentence: str) -> None:
    sys.stderr.write(f"{sentence}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
