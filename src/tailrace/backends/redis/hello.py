"""What a server says of itself when it is met: product, version, whether it is alone, and its part in replication.

HELLO tells nearly all of it, and no list of rights can forbid it; what INFO has to add is for people.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tailrace.backends.redis.errors import explain
from tailrace.backends.redis.resp import pack

ASK_WHO = pack((b"PING",)) + pack((b"HELLO",)) + pack((b"INFO", b"server"))
"""Three commands."""

ASK_ROLE = pack((b"HELLO",))
"""One command."""


@dataclass(frozen=True, slots=True)
class Hello:
    """One server.

    Attributes:
        product: Name and version, for people.
        version: The version of Redis that it is compatible with; nothing if it may not be told.
        mode: ``standalone``, ``cluster`` or ``sentinel``; nothing if it may not be told.
        role: ``master`` or ``replica``; nothing if it may not be told.
    """

    product: str
    version: tuple[int, ...]
    mode: str
    role: str


def read_hello(replies: Sequence[Any], name: str) -> Hello:
    """Read the replies to ``ASK_WHO``.

    Raises:
        DurableStreamUnavailableError: The server, which is called ``name``, refuses to be used.
    """
    pong, hello, info = replies
    # Only PING needs no rights at all in most configurations; it finds a wrong password or database now.
    if isinstance(pong, Exception) and not str(pong).startswith("NOPERM"):
        raise explain(pong, name) from pong
    fields = fields_of(hello)
    about = info_of(info)
    version = about.get("redis_version") or fields.get("version", "")
    if "valkey_version" in about:
        product = f"Valkey {about['valkey_version']}"
    else:
        product = f"{'Valkey' if fields.get('server') == 'valkey' else 'Redis'} {version}".strip()
    return Hello(product, _numbers(version), fields.get("mode", ""), fields.get("role", ""))


def read_role(reply: object) -> str:
    """Read the reply to ``ASK_ROLE``: ``master`` or ``replica``, or nothing if it may not be told."""
    return fields_of(reply).get("role", "")


def fields_of(reply: object) -> Mapping[str, str]:
    """Return the names and texts of a reply that is a map, other values left out; empty for another reply."""
    # A list in RESP2, a dictionary in RESP3.
    if isinstance(reply, list):
        reply = dict(zip(reply[::2], reply[1::2], strict=False))
    if not isinstance(reply, dict):
        return {}
    return {_text(name): _text(value) for name, value in reply.items() if isinstance(value, bytes | str)}


def info_of(reply: object) -> Mapping[str, str]:
    """Return the fields of INFO; empty for another reply."""
    lines = _text(reply).splitlines() if isinstance(reply, bytes | str) else ()
    return dict(line.split(":", 1) for line in lines if ":" in line)


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.split(".")
    return tuple(int(part) for part in parts) if all(part.isdecimal() for part in parts) else ()


def _text(value: bytes | str) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value
