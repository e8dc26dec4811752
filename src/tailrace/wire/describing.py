"""What a server says of itself: the protocol it speaks, what the store that it serves can do, and its limits."""

import dataclasses
from typing import Any, NamedTuple

from tailrace import spi
from tailrace.wire import checks
from tailrace.wire.framing import MalformedError, from_json, to_json
from tailrace.wire.protocol import PROTOCOL


class Description(NamedTuple):
    """A server.

    Attributes:
        protocol: Which version of this protocol it speaks.
        release: Of the library, for people.
        store: What the store can do.
        max_body: Bytes in the body of a request.
        max_topics: Entries, requests or topics in one request.
    """

    protocol: int
    release: str
    store: spi.Capabilities
    max_body: int
    max_topics: int


_TEXTS = ("store", "durability")
_CHOICES = {"gap_detection": ("exact", "conservative")}
_FLAGS = ("durable", "atomic_batches", "defers")


def description_to(description: Description) -> bytes:
    """Return the body that says so."""
    store = dataclasses.asdict(description.store)
    store["enforces"] = sorted(description.store.enforces)
    # How calls behave in the server's process is nobody else's business.
    for name in ("gevent", "fork", "local", "shared", "limited_by"):
        del store[name]
    return to_json({**description._asdict(), "store": store})


def description_from(data: bytes) -> Description:
    """Return what a body says.

    Raises:
        MalformedError: It is not such a body. A server that speaks another protocol is described all the same.
    """
    match from_json(data, "the description"):
        case {"protocol": int(protocol), "release": str(release)} if protocol != PROTOCOL:
            unknown = spi.Capabilities(store="unknown", durable=False, durability="", shared=True)
            return Description(protocol, release, unknown, 1, 1)
        case {"protocol": int(protocol), "release": str(release), "store": dict(store), **others}:
            return Description(
                protocol,
                release,
                _capabilities(store),
                checks.whole(others.get("max_body"), "max_body", least=1),
                checks.whole(others.get("max_topics"), "max_topics", least=1),
            )
        case _:
            raise MalformedError("the description does not say which protocol is spoken")


def _capabilities(store: dict[str, object]) -> spi.Capabilities:
    known: dict[str, Any] = {name: checks.text(store.get(name), name) for name in _TEXTS}
    known |= {name: checks.flag(store.get(name), name) for name in _FLAGS}
    for name, choices in _CHOICES.items():
        if store.get(name) not in choices:
            raise MalformedError(f"{name} is none of {', '.join(choices)}")
        known[name] = store[name]
    enforces = checks.items(store.get("enforces"), "enforces")
    known["enforces"] = frozenset(each for each in enforces if each in ("age", "records", "bytes"))
    known["max_payload"] = checks.whole(store.get("max_payload"), "max_payload", least=1)
    known["notes"] = tuple(checks.text(note, "a note") for note in checks.items(store.get("notes"), "notes"))
    return spi.Capabilities(shared=True, gevent="cooperative", fork="reopens", local=False, **known)
