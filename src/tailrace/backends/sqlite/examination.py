"""How a SQLite store is set up: where its file lies, how careful commits are, and how large it has become."""

from pathlib import Path

from tailrace.backends.sqlite.location import Location
from tailrace.backends.sqlite.mounts import filesystem_of
from tailrace.spi import Findings

_NETWORKED = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "virtiofs", "davfs"}
    | {"fuse.sshfs", "fuse.s3fs", "fuse.gcsfuse", "fuse.glusterfs"}
)


def examine(location: Location) -> Findings:
    """Look at the file and its surroundings, without opening it."""
    folder = Path(location.folder)
    kind = filesystem_of(folder)
    facts = {"synchronous": location.synchronous, **({} if kind is None else {"file system": kind})}
    unread = () if kind is not None else ("the kind of file system can not be found out on this system",)
    return Findings(facts=facts, sizes=_sizes(Path(location.path)), warnings=_warnings(location, kind), unread=unread)


def _sizes(path: Path) -> dict[str, int]:
    """Return the bytes of each file of the store, its log and its companions included."""
    return {str(file): file.stat().st_size for file in sorted(path.parent.glob(f"{path.name}*")) if file.is_file()}


def _warnings(location: Location, kind: str | None) -> tuple[str, ...]:
    found = []
    if location.synchronous == "normal":
        found.append("synchronous is normal: a power cut may take back records that were acknowledged: set it to full")
    if kind in _NETWORKED:
        found.append(
            f"the file is on {kind}: SQLite's locks and shared memory do not work over a network: use a local disk"
        )
    if kind in ("tmpfs", "ramfs"):
        found.append(f"the file is on {kind}: a restart of the machine takes it away: use a disk")
    return tuple(found)
