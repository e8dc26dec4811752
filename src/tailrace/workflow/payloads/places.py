"""Where objects are in a storage: every namespace has a folder, and in it an object has the id of its reference.

Addresses are an exact prefix, the driver's, and segments of plain characters. No other spelling is taken for an
address of ours: no percent signs, no dots that lead upwards, nothing to normalise. No I/O.
"""

import hashlib
import re

_SEGMENT = r"[A-Za-z0-9_=-][A-Za-z0-9._=-]*"
_PATH = re.compile(f"{_SEGMENT}(/{_SEGMENT})*")
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789_-")
_MAX_FOLDER_CHARS = 200


def address(base: str, namespace: str, name: str) -> str:
    """Return the address of an object.

    Args:
        base: What the addresses of the driver begin with, up to a slash.
        name: Plain characters, such as an id has.
    """
    return f"{base}{_folder(namespace)}/{name}"


def segments(base: str, uri: str) -> tuple[str, ...] | None:
    """Return the path of an address below ``base``; ``None`` if it is not there, or spelled otherwise."""
    path = uri.removeprefix(base)
    if not uri.startswith(base) or not _PATH.fullmatch(path):
        return None
    return tuple(path.split("/"))


def within(base: str, namespace: str, uri: str) -> tuple[str, ...] | None:
    """Return the path of an address in the folder of a namespace; ``None`` if it is not in there."""
    path = segments(base, uri)
    if path is None or len(path) < 2 or path[0] != _folder(namespace):
        return None
    return path[1:]


def _folder(namespace: str) -> str:
    """Return a name that no other namespace has, also where files are named without regard to case."""
    raw = namespace.encode("utf-8", "surrogatepass")
    folder = "".join(chr(byte) if byte in _PLAIN else f"={byte:02x}" for byte in raw)
    if 0 < len(folder) <= _MAX_FOLDER_CHARS:
        return folder
    # An escape is one such sign and two digits: nothing else begins with two signs.
    return "==" + hashlib.sha256(raw).hexdigest()
