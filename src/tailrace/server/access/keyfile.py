"""The access keys of a file, read again when it changes, so that revoking a key takes a second and no restart."""

import logging
import time
from pathlib import Path

from tailrace.errors import KeyRingError
from tailrace.server.access.ring import AccessKeys
from tailrace.tokens import ringfile

logger = logging.getLogger("tailrace.server.access")

LOOK_EVERY = 1.0
"""Seconds between two looks at the file: the time in which a revoked key may still be let in."""


class KeyFile:
    """A file of access keys. Of one thread.

    Args:
        path: Private: others may not write it, nor read it.

    Raises:
        KeyRingError: It can not be read, or others may read or change it, or what is in it is wrong.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._keys, self._stamp = _read(path)
        self._look_at = time.monotonic() + LOOK_EVERY

    def __call__(self) -> AccessKeys:
        """Return the keys as they are now. Blocks for as long as the file system takes to say that nothing changed."""
        now = time.monotonic()
        if now >= self._look_at:
            self._look_at = now + LOOK_EVERY
            self._look()
        return self._keys

    def _look(self) -> None:
        try:
            if _stamp_of(self._path) != self._stamp:
                self._keys, self._stamp = _read(self._path)
                logger.info("read the access keys again: %d", len(self._keys.keys))
        except (KeyRingError, OSError) as error:
            # Somebody is editing it, or the disk is away: letting nobody in would be an outage for all.
            logger.error("the access keys stay as they were: %s", error)


def _read(path: Path) -> tuple[AccessKeys, tuple[int, ...]]:
    # The stamp first: a change in between is then seen at the next look.
    try:
        stamp = _stamp_of(path)
    except OSError as error:
        raise KeyRingError(f"{path} can not be read: {error.strerror}") from error
    text, _ = ringfile.read(path)
    return AccessKeys.parse(text), stamp


def _stamp_of(path: Path) -> tuple[int, ...]:
    status = path.stat()
    return status.st_mtime_ns, status.st_ino, status.st_size
