"""What ``doctor`` can say about a store without writing to it."""

import dataclasses
from pathlib import Path
from typing import Any

from tailrace import limits
from tailrace.cli.mounts import filesystem_of
from tailrace.options import StoreURL
from tailrace.spi import Capabilities

_NETWORKED = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "virtiofs", "davfs"}
    | {"fuse.sshfs", "fuse.s3fs", "fuse.gcsfuse", "fuse.glusterfs"}
)


def capabilities(declared: Capabilities) -> dict[str, Any]:
    """Return every declared capability, ready for JSON; its store's name as ``kind``."""
    values = dataclasses.asdict(declared)
    values["enforces"] = sorted(declared.enforces)
    # Shown among the limits.
    del values["max_payload"]
    return {"kind": values.pop("store"), **values}


def limits_of(declared: Capabilities) -> dict[str, int]:
    """Return the limits that hold on this store, in bytes and records."""
    return {
        "max_payload": min(declared.max_payload, limits.MAX_PAYLOAD_BYTES),
        "max_topic_name": limits.MAX_TOPIC_NAME_BYTES,
        "max_seal_error": limits.MAX_SEAL_ERROR_BYTES,
        "max_append_many": limits.MAX_APPEND_MANY,
    }


def database_file(url: StoreURL) -> Path | None:
    """Return the file of a SQLite URL (``sqlite:///relative``, ``sqlite:////absolute``), ``None`` for other stores."""
    return Path(url.location.removeprefix("/")) if url.scheme == "sqlite" else None


def file_sizes(url: StoreURL) -> dict[str, int]:
    """Return the bytes of each file of the store, its log and its companions included."""
    path = database_file(url)
    if path is None or not path.parent.is_dir():
        return {}
    return {str(file): file.stat().st_size for file in sorted(path.parent.glob(f"{path.name}*")) if file.is_file()}


def warnings(url: StoreURL, declared: Capabilities) -> list[str]:
    """Return what a careful operator would want to be told."""
    found = []
    if not declared.durable:
        found.append("records live only as long as this process")
    if url.query.get("synchronous", "").lower() == "normal":
        found.append("synchronous=normal: a power cut may take back records that were acknowledged")
    path = database_file(url)
    kind = filesystem_of(path.absolute().parent) if path is not None else None
    if kind in _NETWORKED:
        found.append(f"the file is on {kind}: SQLite's locks and shared memory do not work over a network")
    if kind in ("tmpfs", "ramfs"):
        found.append(f"the file is on {kind}: a restart of the machine takes it away")
    return found
