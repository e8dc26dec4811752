"""Which user a server becomes when tests run as root: many refuse to be root. Others stay who they are."""

import contextlib
import functools
import hashlib
import os
import pwd
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tailrace.testing.servers.tree import shared

_NAME = "nobody"


@dataclass(frozen=True)
class Account:
    """A user without any rights."""

    uid: int
    gid: int

    @classmethod
    def for_servers(cls) -> Self | None:
        """Return the user whom a server has to become, or ``None`` if it stays who we are."""
        if os.geteuid() != 0:
            return None
        entry = pwd.getpwnam(_NAME)
        return cls(entry.pw_uid, entry.pw_gid)

    def give(self, path: Path) -> None:
        """Make it the owner of a file or folder, with everything in it."""
        os.chown(path, self.uid, self.gid)
        for folder, folders, files in os.walk(path):
            for name in (*folders, *files):
                os.chown(Path(folder, name), self.uid, self.gid, follow_symlinks=False)

    def reaches(self, path: Path) -> bool:
        """Whether every folder on the way, and the program at its end, is open to strangers."""
        place = path.resolve()
        return all(one.stat().st_mode & stat.S_IXOTH for one in (place, *place.parents))


def within_reach(program: Path, top: Path, account: Account | None, parts: tuple[str, ...] = ()) -> Path:
    """Return where a program can be run by that user: where it is, or in a copy of what it needs.

    Args:
        top: A folder above it.
        parts: What it needs of that folder; everything if nothing is said.
    """
    if account is None or account.reaches(program):
        return program
    return _copy(top, parts) / program.relative_to(top)


@functools.cache
def _copy(top: Path, parts: tuple[str, ...]) -> Path:
    name = hashlib.blake2b(os.fsencode(top), digest_size=8).hexdigest()
    return shared(f"programs-{name}", lambda place: _link_tree(top, place, parts))


def _open(path: str) -> None:
    place = Path(path)
    mode = place.stat().st_mode
    # What its owner may, others may: read it, and pass or run it.
    place.chmod(mode | (mode & 0o500) >> 6)


def _link_tree(top: Path, place: Path, parts: tuple[str, ...]) -> None:
    place.mkdir()
    for part in parts or (".",):
        shutil.copytree(top / part, place / part, symlinks=True, copy_function=_link, dirs_exist_ok=True)
    for folder, _, _ in os.walk(place):
        _open(folder)


def _link(source: str, target: str) -> None:
    # Not where rights have to change: a link shares them with the original.
    if Path(source).stat().st_mode & stat.S_IROTH:
        with contextlib.suppress(OSError):
            Path(target).hardlink_to(source)
            return
    # Or it is another file system, or one that has no links.
    shutil.copy2(source, target)
    _open(target)
