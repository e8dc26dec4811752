"""Which node of a cluster has which key, and what nodes say when it is another one. Pure."""

from binascii import crc_hqx
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import hiredis

from tailrace.backends.redis.resp import pack

SLOTS = 16384

Address: TypeAlias = tuple[str, int]
Remap: TypeAlias = Callable[[Address], Address]

ASK_SLOTS = pack((b"CLUSTER", b"SLOTS"))
ASKING = pack((b"ASKING",))

_OF_NO_KEY = frozenset({b"TIME"})


class Redirect(NamedTuple):
    """Another node is to be asked, for good or (``asking``) just this once, because the slot is being moved there."""

    slot: int
    address: Address
    asking: bool


def slot_of(key: bytes) -> int:
    """Return the slot of a key, or of a channel."""
    start = key.find(b"{")
    if start >= 0:
        end = key.find(b"}", start + 1)
        if end > start + 1:
            key = key[start + 1 : end]
    return crc_hqx(key, 0) % SLOTS


def primaries(reply: Sequence[Any]) -> set[tuple[bytes | None, int]]:
    """Return the nodes that serve slots, as CLUSTER SLOTS names them."""
    return {(row[2][0], row[2][1]) for row in reply}


def owners(reply: Sequence[Any], asked: Address, remap: Remap | None) -> list[Address | None]:
    """Return who serves each slot, from the reply of CLUSTER SLOTS.

    Args:
        asked: Who was asked: a node that knows no name for itself is reached under the one that we know.
        remap: From what nodes call themselves to where they are.
    """
    found: list[Address | None] = [None] * SLOTS
    for first, last, primary, *_replicas in reply:
        address = place(primary[0], primary[1], asked, remap)
        found[first : last + 1] = [address] * (last + 1 - first)
    return found


def place(host: bytes | None, port: int, asked: Address, remap: Remap | None) -> Address:
    """Return where a node is."""
    address = (host.decode() if host and host != b"?" else asked[0], port)
    return address if remap is None else remap(address)


def redirect(reply: object, asked: Address, remap: Remap | None) -> Redirect | None:
    """Read an error that names another node; ``None`` for any other reply."""
    if not isinstance(reply, Exception):
        return None
    said = str(reply)
    if not said.startswith(("MOVED ", "ASK ")):
        return None
    kind, slot, where = said.split(" ")[:3]
    host, _, port = where.rpartition(":")
    return Redirect(int(slot), place(host.encode(), int(port), asked, remap), kind == "ASK")


def one_by_one(commands: bytes) -> list[tuple[bytes, ...]]:
    """Take packed commands apart."""
    reader = hiredis.Reader()
    reader.feed(commands)
    found = []
    while (command := reader.gets()) is not False:
        found.append(tuple(command))
    return found


def with_asking(commands: bytes) -> bytes:
    """Return the commands as a node answers them that a slot is being moved to; each of them gets two replies."""
    return b"".join(ASKING + pack(command) for command in one_by_one(commands))


def all_are_asked(commands: bytes, replies: Sequence[object]) -> bool:
    """Return whether every command that is about a key was answered with ASK: none of its keys is there any more."""
    for command, reply in zip(one_by_one(commands), replies, strict=False):
        if command[0] not in _OF_NO_KEY and not (isinstance(reply, Exception) and str(reply).startswith("ASK ")):
            return False
    return True
