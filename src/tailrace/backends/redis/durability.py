"""What an acknowledgement means on a server that is set like this, in one sentence. Pure."""

from tailrace.backends.redis.replication import Confirmation
from tailrace.backends.redis.settings import Settings

ASKED = ("appendonly", "appendfsync", "save")
"""The directives that it depends on."""

_FLUSHED = {
    "always": "in the append-only file and flushed to disk: it survives a power cut (appendfsync always)",
    "everysec": (
        "in the append-only file: it survives the server's process, and a power cut takes the last second or two "
        "(appendfsync everysec)"
    ),
    "no": (
        "in the append-only file: it survives the server's process, and a power cut takes what the system had not "
        "written yet (appendfsync no)"
    ),
}


def sentence(found: Settings, confirmation: Confirmation) -> str:
    """Return the sentence."""
    return f"An acknowledged record is {_kept(found)}; {_replicated(found, confirmation)}."


def _kept(found: Settings) -> str:
    aof = found.aof
    if aof is None:
        return (
            "in the memory of the server, and whether it survives a crash is up to its appendonly and save, "
            "which this user may not read"
        )
    if aof:
        unknown = "in the append-only file, flushed as often as appendfsync says, which this user may not read"
        return _FLUSHED.get(found.config.get("appendfsync", ""), unknown)
    save = found.config.get("save")
    if save == "":
        return "in the memory of the server only: it is gone with the server's process (appendonly no, no snapshots)"
    return "in the memory of the server: a crash takes what came after the last snapshot (appendonly no)"


def _replicated(found: Settings, confirmation: Confirmation) -> str:
    if confirmation.replicas:
        few = "one replica has" if confirmation.replicas == 1 else f"{confirmation.replicas} replicas have"
        return f"at least {few} confirmed it (wait_replicas={confirmation.replicas})"
    if "connected_slaves" not in found.info:
        return "whether it survives a failover is up to replication, which nothing waits for"
    if not found.replicas:
        return "no replica has it"
    return "replicas get it later, and a failover takes what they had not got (wait_replicas waits for them)"
