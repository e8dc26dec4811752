"""The one place where the driver's and the server's errors become ours.

Which class decides what the engine does: a plain unavailable error is ridden out, a ``StoreUnusableError`` is told
at once. Each message is one sentence that says what to do, with the server's own words after it.
"""

import re

import redis

from tailrace.backends.redis import encryption
from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError

_UNUSABLE = {
    "WRONGTYPE": "holds something that is not Tailrace's under the keys of this topic: move it away, or use a prefix",
    "ORPHANED": (
        "has records of this topic, but its identity is gone (evicted, or deleted by hand): "
        "set maxmemory-policy to noeviction, and delete the topic to start it anew"
    ),
    "NOAUTH": "wants a password: put one into the URL or the client",
    "WRONGPASS": "does not accept this user and password",
    "NOPERM": "does not allow this user what is needed: see the least rights in the documentation",
    "OOM": "has no memory left: nothing was stored; free some, or raise maxmemory",
    "MISCONF": "can not write its snapshot and so refuses to write: nothing was stored; look at its log",
    "CROSSSLOT": "is behind something that splits the keys of one topic: connect with redis+cluster://",
    "MOVED": "does not have this topic: connect with redis+cluster://",
    "ASK": "does not have this topic any more: connect with redis+cluster://",
}
_TRANSIENT = {
    "READONLY": "is a replica now, and can not be written: connect to the primary",
    "LOADING": "is still loading its data",
    "BUSY": "is busy with somebody's script",
    "MASTERDOWN": "is a replica whose primary is away",
    "CLUSTERDOWN": "is part of a cluster that is down",
    "TRYAGAIN": "is moving this topic to another node",
    "NOREPLICAS": "has fewer replicas than it demands, and refuses to write",
    "UNKILLABLE": "is busy with somebody's script",
}
_CODE = re.compile(rf"\b({'|'.join((*_UNUSABLE, *_TRANSIENT))})\b")


_FORBIDDEN = ("can't run this command", "no permissions to run", "has no permissions to access")


def code_of(said: str) -> str:
    """Return the code in a server's error; empty if there is none that means something here."""
    if any(words in said for words in _FORBIDDEN):
        # In a script, depending on the release, without its code.
        return "NOPERM"
    if said.startswith("Authentication required"):
        # The driver takes the code off.
        return "NOAUTH"
    # From within a script, depending on the release, somewhere behind its line.
    found = _CODE.search(said)
    return found[0] if found else ""


def explain(exc: Exception, what: object, keys: object = "", command: str = "") -> DurableStreamUnavailableError:
    """Return our error for one that the server answered with, or that the driver raised.

    Args:
        what: Names the server.
        keys: Names the keys that it was about, where that helps.
        command: Names the command, where the server does not.
    """
    broken = encryption.trouble(exc, what)
    if broken is not None:
        return broken
    said = str(exc) + command
    code = code_of(said)
    if code in _UNUSABLE:
        named = f" ({keys})" if keys and code in ("WRONGTYPE", "ORPHANED") else ""
        return StoreUnusableError(f"{what} {_UNUSABLE[code]}{named} [{said}]")
    if code in _TRANSIENT:
        return DurableStreamUnavailableError(f"{what} {_TRANSIENT[code]} [{said}]")
    if "equal or smaller than the target stream" in said or "exhausted the last possible ID" in said:
        return StoreUnusableError(f"{what} has entries of somebody else in the stream of this topic ({keys}) [{said}]")
    if "index is out of range" in said or "invalid DB index" in said:
        return StoreUnusableError(f"{what} has no database of that number: change the URL [{said}]")
    if "invalid bulk length" in said or "invalid multibulk length" in said:
        return StoreUnusableError(f"{what} takes no payload of that size: raise proto-max-bulk-len [{said}]")
    if "unknown command" in said.lower() or "unknown subcommand" in said.lower():
        return StoreUnusableError(f"{what} is too old or restricted: Redis 6.2 or newer is needed [{said}]")
    if isinstance(exc, redis.AuthenticationError | redis.exceptions.NoPermissionError):
        return StoreUnusableError(f"{what} does not accept this user, password or their rights [{said}]")
    if isinstance(exc, redis.exceptions.BusyLoadingError):
        return DurableStreamUnavailableError(f"{what} is still loading its data [{said}]")
    if isinstance(exc, redis.TimeoutError | TimeoutError):
        return DurableStreamUnavailableError(f"{what} did not answer in time [{said}]")
    return DurableStreamUnavailableError(f"{what} could not be used [{said}]")
