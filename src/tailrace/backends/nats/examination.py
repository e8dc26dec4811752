"""How the servers and the stream are set up, and what of it would lose records or refuse work."""

from collections.abc import Iterator, Mapping
from typing import Any

from tailrace.backends.nats.core import Core
from tailrace.backends.nats.errors import ApiError, Denied
from tailrace.spi import Findings

NEARLY = 0.9
"""The part of a limit that is worth a warning."""

SMALL = 2**20

_FLUSHING = (
    "sync_interval: no client may ask the server for it; unless it is set to always, acknowledged records of the last "
    "two minutes can be lost when the machines of most replicas lose power at once"
)


async def examine(core: Core, deadline: float) -> Findings:
    """Look at everything that this user may see."""
    names, session = core.ground.names, core.session
    facts = {
        "servers": session.name,
        "server version": ".".join(map(str, core.ground.version)),
        "layout": names.layout,
        "max_payload": str(core.ground.max_payload),
    }
    sizes: dict[str, int] = {}
    warnings: list[str] = []
    unread = [_FLUSHING]
    for stream in [names.bucket, *([names.store] if names.shared else [])]:
        try:
            info = await session.insist(f"STREAM.INFO.{stream}", None, deadline)
        except (ApiError, Denied) as exc:
            unread.append(f"the stream {stream} could not be looked at: {exc}")
            continue
        facts |= {f"{stream}: {name}": value for name, value in _facts(info)}
        sizes[f"stream {stream}"] = int(info["state"]["bytes"])
        warnings += _of_stream(stream, info)
    try:
        account = await session.insist("INFO", None, deadline)
    except (ApiError, Denied) as exc:
        unread.append(f"the account's limits could not be looked at: {exc}")
    else:
        sizes["JetStream of this account"] = int(account.get("storage", 0))
        warnings += _of_account(account)
    if core.ground.max_payload < SMALL:
        warnings.append(f"max_payload is {core.ground.max_payload}: set it to 1MB or more, or append less at once")
    return Findings(facts=facts, sizes=sizes, warnings=tuple(warnings), unread=tuple(unread))


def _facts(info: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    settings, cluster = info["config"], info.get("cluster") or {}
    yield "replicas", str(settings.get("num_replicas", 1))
    yield "messages", str(info["state"]["messages"])
    yield "storage", str(settings.get("storage"))
    if cluster:
        yield "cluster", str(cluster.get("name"))
        yield "leader", str(cluster.get("leader") or "none right now")


def _of_stream(stream: str, info: Mapping[str, Any]) -> Iterator[str]:
    settings, cluster = info["config"], info.get("cluster") or {}
    for limit in ("max_msgs", "max_bytes", "max_age"):
        if (settings.get(limit) or -1) > 0:
            yield f"{stream} has {limit} set: the server removes or refuses by itself: unset it, and use retention"
    if settings.get("storage") != "file":
        yield f"{stream} is in memory: it is gone when the server is restarted: make it anew, in files"
    if settings.get("discard") != "new":
        yield f"{stream} discards what is old when it is full: set discard to new, or records are lost"
    if settings.get("deny_purge") or settings.get("deny_delete"):
        yield f"{stream} forbids to remove messages: retention can not work; it was made by hand: make it anew"
    if cluster.get("name") and settings.get("num_replicas", 1) == 1:
        yield f"{stream} has one replica in a cluster: it is away while that server is: use replicas=3"
    away = [str(peer.get("name")) for peer in cluster.get("replicas") or () if peer.get("offline")]
    if away:
        yield f"{stream} has replicas that are away: {', '.join(away)}: start them, or remove the peers"
    if settings.get("mirror") or settings.get("sources"):
        yield f"{stream} copies another stream: appends to it are not compared: make a stream of its own"


def _of_account(account: Mapping[str, Any]) -> Iterator[str]:
    limits = account.get("limits") or {}
    for name, used, most in (
        ("max_storage", account.get("storage", 0), limits.get("max_storage", -1)),
        ("max_streams", account.get("streams", 0), limits.get("max_streams", -1)),
    ):
        if most > 0 and used >= most * NEARLY:
            yield f"the account uses {used} of {most} ({name}): raise it, or appends will be refused"
