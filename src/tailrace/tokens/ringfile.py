"""A file of keys: read only if it is private, made once, replaced in one step under a lock."""

import contextlib
import fcntl
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tailrace.errors import KeyRingError

MAX_BYTES = 64 * 1024
"""Bytes in a ring's file: some hundred keys; anything larger is another file."""

_TOO_OPEN = stat.S_IRWXO | stat.S_IWGRP


def read(path: Path) -> tuple[str, os.stat_result]:
    """Return the text of a private file and what the system says of it.

    Raises:
        KeyRingError: It can not be read, is no regular file or no text, or others may read or change it.
    """
    with _told("read", path), _opened(path) as descriptor:
        return _content(path, descriptor)


def create(path: Path, text: str) -> None:
    """Write a new file with mode 0600; it is whole and on disk when it appears.

    Raises:
        KeyRingError: It exists already, and is left as it is, or it can not be written.
    """
    with _told("written", path):
        fresh = _written(path, text)
        try:
            # Unlike a rename, a link never replaces: of two that create, one is refused.
            path.hardlink_to(fresh)
        except FileExistsError:
            raise KeyRingError(f"{path} exists already: rotate it, or choose another name") from None
        finally:
            fresh.unlink()
        _sync(path.parent)


def replace(path: Path, change: Callable[[str], str]) -> None:
    """Put ``change(text)`` in the place of a file's text, in one step; the file keeps its owner and mode.

    Two that replace at once do so one after the other, so neither loses the other's key. A link is followed.

    Raises:
        KeyRingError: As in ``read``, or it can not be written, or its owner not kept; the old file is untouched.
    """
    path = path.resolve()
    with _told("replaced", path), _locked(path) as descriptor:
        text, before = _content(path, descriptor)
        fresh = _written(path, change(text))
        try:
            os.chown(fresh, before.st_uid, before.st_gid)
            fresh.chmod(stat.S_IMODE(before.st_mode))
            fresh.replace(path)
        except BaseException:
            fresh.unlink()
            raise
        _sync(path.parent)


@contextlib.contextmanager
def _told(done: str, path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise KeyRingError(f"{path} can not be {done}: {error.strerror}") from error


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    # Without O_NONBLOCK a named pipe would be waited for before it can be refused.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[int]:
    while True:
        with _opened(path) as descriptor:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            # While we waited for the lock, its holder put another file in place: then we hold the lock of the old one.
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                yield descriptor
                return


def _content(path: Path, descriptor: int) -> tuple[str, os.stat_result]:
    # Of what was opened, not of the name: that may be another file by now.
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise KeyRingError(f"{path} is no regular file")
    if status.st_mode & _TOO_OPEN:
        mode = stat.S_IMODE(status.st_mode)
        raise KeyRingError(f"{path} has mode {mode:04o}, so others may read or change the keys: chmod 600 {path}")
    if status.st_size > MAX_BYTES:
        raise KeyRingError(f"{path} has {status.st_size} bytes, more than any file of keys")
    with os.fdopen(os.dup(descriptor), "rb") as stream:
        content = stream.read(MAX_BYTES)
    try:
        return content.decode("ascii"), status
    except UnicodeDecodeError:
        raise KeyRingError(f"{path} is no file of keys: it is not text in ASCII") from None


def _written(path: Path, text: str) -> Path:
    """Return a private file beside the given one, with its content on disk."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(text.encode("ascii"))
        stream.flush()
        os.fsync(stream.fileno())
    return Path(name)


def _sync(directory: Path) -> None:
    with _opened(directory) as descriptor:
        os.fsync(descriptor)
