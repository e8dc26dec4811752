"""Replacing a small file so that a crash at any instant leaves the old one or the new one, never a part."""

import os
from pathlib import Path


def replace(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path``, durably and in one step.

    The new content is on disk before the name points to it: without that order, a power cut could leave
    the name on an empty file. The directory is synced last, so that the change itself survives one too.
    A link is followed, so that a shared file stays where it is.

    Raises:
        OSError: The file can not be written; the old one is untouched.
    """
    path = path.resolve()
    fresh = path.with_name(f"{path.name}.new")
    with fresh.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    fresh.replace(path)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
