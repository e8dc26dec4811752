"""From a URL to a carrier: which form, which servers, and whether they can do it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from tailrace.backends.redis.broadcast.carrier import RedisCarrier, RedisStreams
from tailrace.backends.redis.broadcast.names import Names
from tailrace.backends.redis.cluster import Cluster
from tailrace.backends.redis.nodes import Nodes
from tailrace.backends.redis.opening import nodes_of, places_of
from tailrace.backends.redis.resp import pack
from tailrace.errors import InvalidArgumentError, StoreUnusableError
from tailrace.options import StoreURL, positive_count, positive_seconds
from tailrace.spi import Carrier

T = TypeVar("T", int, float)

MODES = ("pubsub", "sharded", "streams")
KEEP, KEEP_FOR = 10_000, 3600.0
"""Messages of a topic, and seconds after its last one, that streams keep unless they are told otherwise."""

_OURS = {"mode": MODES, "keep": MODES[2:], "keep_for": MODES[2:], "channel": MODES[:2]}
"""Settings of live messages, and the modes that know them."""

_STORES = ("wait_replicas", "wait_timeout")


def open_broadcast(url: StoreURL, timeout: float) -> Carrier:
    """Open ``redis://host:port/0?mode=pubsub``, or another place of Redis.

    Raises:
        InvalidArgumentError: A setting is unknown or can not have that value.
        StoreUnusableError: The server can not be used, or can not do this; the message says what to do.
        DurableStreamUnavailableError: The server is away.
    """
    mode = url.query.get("mode", MODES[0])
    if mode not in MODES:
        raise InvalidArgumentError(f"mode must be one of {', '.join(MODES)}, not {mode}")
    refused = [name for name in url.query if name in _STORES or mode not in _OURS.get(name, MODES)]
    if refused:
        raise InvalidArgumentError(f"{refused[0]} is no setting of live messages in the mode {mode}")
    keep, keep_for = _number(url.query, "keep", KEEP), _number(url.query, "keep_for", KEEP_FOR)
    positive_count("keep", keep)
    positive_seconds("keep_for", keep_for)
    rest = {name: value for name, value in url.query.items() if name not in _OURS}
    if "channel" in url.query and "prefix" in url.query:
        raise InvalidArgumentError("channel is the whole name: with it, prefix has nothing to be before")
    places, prefix = places_of(replace(url, query=rest))
    nodes = nodes_of(places)
    names = Names(prefix, nodes.database, url.query.get("channel"))
    try:
        nodes.greet(timeout)
        if mode == "sharded":
            _check_sharded(nodes, timeout)
    except BaseException:
        nodes.close()
        raise
    if mode == "streams":
        return RedisStreams(nodes, names, keep=keep, keep_for=keep_for)
    return RedisCarrier(nodes, names, sharded=mode == "sharded")


def _check_sharded(nodes: Nodes, timeout: float) -> None:
    if isinstance(nodes, Cluster):
        can = nodes.sharded
    else:
        answer, _ = nodes.ask_everywhere(pack((b"COMMAND", b"INFO", b"SPUBLISH")), 0, timeout)
        # A user who may not ask finds out when he subscribes.
        can = not (isinstance(answer, list) and answer[0] in ([], [None]))
    if not can:
        raise StoreUnusableError(f"{nodes.name} is too old for mode=sharded: Redis 7 or newer is needed")


def _number(query: Mapping[str, str], name: str, default: T) -> T:
    try:
        return type(default)(query.get(name, default))
    except ValueError:
        raise InvalidArgumentError(f"{name} must be a number, not {query[name]}") from None
