"""The scripts in ``scripts/*.lua``, and how they are called."""

import functools
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from tailrace.backends.redis.resp import pack

_LINE = re.compile(r"user_script: ?(\d+)")
_COMMAND = re.compile(r"\('([A-Z]+)'")
_FOLDER = Path(__file__).with_name("scripts")
_PARTS = {"append": ("append", "cut", "append_cut"), "trim": ("cut", "trim")}


class Script:
    """One script. Immutable.

    A server forgets scripts (a restart, a failover, ``SCRIPT FLUSH``): what was answered with NOSCRIPT did certainly
    not run, and is sent again with its text.
    """

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._lines = source.decode().splitlines()
        self._digest = hashlib.sha1(source, usedforsecurity=False).hexdigest().encode()

    def command_in(self, said: str) -> str:
        """Return which command an error of this script was about, if it tells only the line; else nothing."""
        at = None if said.endswith(")") else _LINE.search(said)
        found = _COMMAND.search(self._lines[int(at[1]) - 1]) if at and int(at[1]) <= len(self._lines) else None
        return f" ({found[1].lower()})" if found else ""

    def call(self, keys: Sequence[bytes], values: Sequence[bytes]) -> bytes:
        """Return a packed call by digest."""
        return pack((b"EVALSHA", self._digest, len(keys), *keys, *values))

    def call_in_full(self, keys: Sequence[bytes], values: Sequence[bytes]) -> bytes:
        """Return a packed call that brings the script along."""
        return pack((b"EVAL", self._source, len(keys), *keys, *values))


@functools.cache
def script(name: str) -> Script:
    """Return a script by the name of its file."""
    parts = _PARTS.get(name, (name,))
    return Script(b"".join((_FOLDER / f"{part}.lua").read_bytes() for part in parts))
