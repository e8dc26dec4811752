"""Objects as files of one directory: for one machine, or a file system that several share.

A file appears under its name whole and synced, or not at all. A mark in the directory tells it from an empty mount
point, in which nothing would ever be found and everything would seem deleted.
"""

import contextlib
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from tailrace import native
from tailrace.errors import InvalidArgumentError
from tailrace.workflow.payloads import places
from tailrace.workflow.payloads.errors import PayloadNotFoundError, PayloadOversizedError, PayloadUnavailableError

T = TypeVar("T")

_MARK = ".tailrace-payloads"
_PARTS = ".parts"
# A pipe or a device of that name must not make anybody wait, and a link must not lead anywhere.
_OPEN = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class LocalDriver:
    """A directory. Blocking (in a native thread under gevent), thread-safe, shared by processes, goes through forks.

    Args:
        root: The directory; made, with its parents, if it is not there.

    Raises:
        PayloadUnavailableError: It can not be made or written to.
    """

    def __init__(self, root: Path) -> None:
        self._root = root.absolute()
        self.base = self._root.as_uri().rstrip("/") + "/"
        with _told():
            (self._root / _PARTS).mkdir(parents=True, exist_ok=True)
            (self._root / _MARK).touch()

    def __repr__(self) -> str:
        return f"<LocalDriver {self._root}>"

    def put(self, uri: str, content: bytes) -> None:
        """See ``PayloadDriver.put``."""
        path = self._path(uri)
        _run(lambda: self._put(path, content))

    def get(self, uri: str, limit: int) -> bytes:
        """See ``PayloadDriver.get``."""
        path = self._path(uri)
        return _run(lambda: self._get(path, limit))

    def delete(self, uri: str) -> None:
        """See ``PayloadDriver.delete``. Parts that killed processes have left of this object go too."""
        path = self._path(uri)
        _run(lambda: self._delete(path))

    def exists(self, uri: str) -> bool:
        """See ``PayloadDriver.exists``."""
        path = self._path(uri)
        return _run(lambda: self._exists(path))

    def close(self) -> None:
        """See ``PayloadDriver.close``. Nothing is held."""

    def _put(self, path: Path, content: bytes) -> None:
        self._check_mounted()
        part = self._root / _PARTS / f"{path.name}.{secrets.token_hex(8)}"
        try:
            with part.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            path.parent.mkdir(parents=True, exist_ok=True)
            self._check_inside(path)
            part.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                part.unlink()
            raise
        for folder in (path.parent, *path.parent.parents):
            _sync(folder)
            if folder == self._root:
                break

    def _get(self, path: Path, limit: int) -> bytes:
        try:
            self._check_inside(path)
            descriptor = os.open(path, _OPEN)
        except FileNotFoundError as gone:
            self._check_mounted()
            raise PayloadNotFoundError("the object is not in the storage") from gone
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise PayloadUnavailableError("something that is not a file has the name of the object")
            if found.st_size > limit:
                raise PayloadOversizedError(found.st_size, limit)
            return file.read(limit)

    def _delete(self, path: Path) -> None:
        self._check_mounted()
        for part in (self._root / _PARTS).glob(f"{path.name}.*"):
            part.unlink(missing_ok=True)
        with contextlib.suppress(FileNotFoundError):
            self._check_inside(path)
            path.unlink()
            _sync(path.parent)

    def _exists(self, path: Path) -> bool:
        try:
            self._check_inside(path)
            return stat.S_ISREG(path.lstat().st_mode)
        except FileNotFoundError:
            self._check_mounted()
            return False

    def _path(self, uri: str) -> Path:
        segments = places.segments(self.base, uri)
        if segments is None:
            raise InvalidArgumentError("this is no address in this storage")
        return self._root.joinpath(*segments)

    def _check_inside(self, path: Path) -> None:
        # A folder may have been replaced by a link since.
        if not path.parent.resolve(strict=True).is_relative_to(self._root.resolve(strict=True)):
            raise PayloadUnavailableError("a link leads out of the storage")

    def _check_mounted(self) -> None:
        if not (self._root / _MARK).exists():
            raise PayloadUnavailableError("the directory of the storage is gone, or another one is in its place")


def _run(work: Callable[[], T]) -> T:
    with _told():
        return native.call(work)


@contextlib.contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        raise PayloadUnavailableError(f"the directory of the storage can not be used: {exc.strerror}") from exc


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
