"""How the servers are set up, and what of it would lose records or hints, or refuse work."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from tailrace import limits
from tailrace.backends.redis.nodes import Nodes
from tailrace.backends.redis.replication import Confirmation
from tailrace.backends.redis.settings import Settings, every, number
from tailrace.spi import Findings

DIRECTIVES = (
    "maxmemory",
    "maxmemory-policy",
    "appendonly",
    "appendfsync",
    "no-appendfsync-on-rewrite",
    "save",
    "min-replicas-to-write",
    "timeout",
    "tcp-keepalive",
    "client-output-buffer-limit",
    "proto-max-bulk-len",
)
"""Asked for, and shown as they are."""

_TOLD = (
    "valkey_version",
    "redis_version",
    "role",
    "connected_slaves",
    "aof_last_write_status",
    "rdb_last_bgsave_status",
)
"""Of INFO, shown as they are."""

OLDEST = (6, 2)
HINTS_HARD, HINTS_SOFT = 2**20, 2**18
"""Bytes of hints that a process must be able to lag behind: some ten thousand of them."""


def examine(nodes: Nodes, confirmation: Confirmation, timeout: float) -> Findings:
    """Look at every server.

    Raises:
        DurableStreamUnavailableError: None of them answers.
    """
    found = every(nodes, DIRECTIVES, timeout)
    facts: dict[str, str] = {}
    sizes: dict[str, int] = {}
    for settings in found:
        where = f" ({settings.name})" if len(found) > 1 else ""
        told = {name: settings.info[name] for name in _TOLD if name in settings.info}
        facts |= {name + where: value for name, value in (told | settings.config).items()}
        used = number(settings.info.get("used_memory", ""))
        if used is not None:
            sizes[f"memory of the server{where}"] = used
    return Findings(
        facts=facts,
        sizes=sizes,
        warnings=_together(found, lambda settings: warnings(settings, confirmation)),
        unread=_together(found, lambda settings: settings.unread),
    )


def _together(found: Sequence[Settings], of: Callable[[Settings], Sequence[str]]) -> tuple[str, ...]:
    """Return what is said of the servers, each sentence once, with those that it holds for if not for all."""
    said: dict[str, list[str]] = {}
    for settings in found:
        for sentence in of(settings):
            said.setdefault(sentence, []).append(settings.name)
    return tuple(
        f"{', '.join(names)}: {sentence}" if len(names) < len(found) and all(names) else sentence
        for sentence, names in said.items()
    )


def warnings(found: Settings, confirmation: Confirmation) -> list[str]:
    """Return what to mind about one server, one sentence each. What could not be read is not warned of. Pure."""
    return [*_memory(found), *_disk(found), *_replication(found, confirmation), *_connections(found)]


def _memory(found: Settings) -> Iterator[str]:
    policy = found.config.get("maxmemory-policy") or found.info.get("maxmemory_policy", "noeviction")
    if policy.startswith("allkeys"):
        yield f"maxmemory-policy is {policy}: a full server throws topics away: set it to noeviction"
    elif policy != "noeviction":
        yield (
            f"maxmemory-policy is {policy}: a full server forgets deleted topics early, so that not everybody is "
            "told of the deletion: set it to noeviction"
        )


def _disk(found: Settings) -> Iterator[str]:
    config, info = found.config, found.info
    if found.aof is False:
        lost = "everything" if config.get("save") == "" else "what was acknowledged since the last snapshot"
        yield f"appendonly is no: a crash or a restart of the server loses {lost}: set it to yes"
    if found.aof and config.get("appendfsync") == "no":
        yield "appendfsync is no: a power cut loses what the system had not written yet: set it to everysec or always"
    if found.aof and config.get("no-appendfsync-on-rewrite") == "yes":
        yield "no-appendfsync-on-rewrite is yes: while the file is rewritten nothing is flushed: set it to no"
    if info.get("aof_last_write_status", "ok") != "ok":
        yield "the last write of the append-only file failed: look at the server's log and its disk"
    if info.get("rdb_last_bgsave_status", "ok") != "ok":
        yield "the last snapshot failed, and the server may refuse to write: look at its log and its disk"


def _replication(found: Settings, confirmation: Confirmation) -> Iterator[str]:
    if found.info.get("role") == "slave":
        yield "this server is a replica: it refuses appends: connect to the primary, or with redis+sentinel://"
        return
    if found.replicas and found.config.get("min-replicas-to-write") == "0":
        yield (
            "min-replicas-to-write is 0: a primary that is cut off from its replicas goes on to acknowledge what a "
            "failover takes back: set it to 1"
        )
    if "connected_slaves" in found.info and found.replicas < confirmation.replicas:
        yield (
            f"wait_replicas is {confirmation.replicas} and {found.replicas} replicas are connected: every append will "
            "be of unknown outcome: connect replicas, or wait for fewer"
        )


def _connections(found: Settings) -> Iterator[str]:
    config = found.config
    version = tuple(map(number, found.info.get("redis_version", "").split(".")[:2]))
    if None not in version and version < OLDEST:
        yield f"version {found.info['redis_version']} is too old: use 6.2 or newer"
    if config.get("tcp-keepalive") == "0":
        yield (
            "tcp-keepalive is 0: subscriptions of hosts that are gone are kept for ever, and idle ones may be cut by a "
            "firewall: set it to 300"
        )
    limit = _hints_limit(config)
    if limit is not None and (0 < limit[0] < HINTS_HARD or 0 < limit[1] < HINTS_SOFT):
        yield (
            f"client-output-buffer-limit pubsub is {limit[0]} {limit[1]}: a burst of hints cuts subscriptions, which "
            "delays readers: set it to 32mb 8mb 60"
        )
    longest = number(config.get("proto-max-bulk-len", ""))
    if longest is not None and longest < limits.MAX_PAYLOAD_BYTES:
        yield (
            f"proto-max-bulk-len is {longest}: the server hangs up on larger payloads: set it to "
            f"{limits.MAX_PAYLOAD_BYTES} or more, or max_payload to less"
        )


def _hints_limit(config: Mapping[str, str]) -> tuple[int, int] | None:
    """Return the hard and the soft limit of subscriptions in bytes; 0 is none."""
    words = config.get("client-output-buffer-limit", "").split()
    if "pubsub" not in words:
        return None
    hard, soft = words[words.index("pubsub") + 1 :][:2]
    return int(hard), int(soft)
