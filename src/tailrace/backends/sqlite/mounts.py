"""On which kind of file system a path is, where the system tells (Linux)."""

from pathlib import Path


def filesystem_of(path: Path, mounts: Path = Path("/proc/self/mounts")) -> str | None:
    """Return the file system type that holds ``path``, or ``None`` if it can not be known."""
    try:
        table = mounts.read_text(encoding="utf-8", errors="surrogateescape")
        path = path.resolve()
    except OSError:
        return None
    best: tuple[int, str | None] = (-1, None)
    for row in table.splitlines():
        _device, point, kind, *_ = row.split(" ")
        where = Path(_unescaped(point))
        # Later rows cover earlier ones that are mounted on the same point.
        if path.is_relative_to(where) and len(where.parts) >= best[0]:
            best = len(where.parts), kind
    return best[1]


def _unescaped(point: str) -> str:
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        point = point.replace(code, character)
    return point
