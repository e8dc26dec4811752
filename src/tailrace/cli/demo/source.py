"""Which text the demo streams: the user's, or the project's own README, also when installed from a wheel."""

from importlib import metadata
from pathlib import Path

from tailrace.cli.exits import Code, Stop
from tailrace.limits import MAX_PAYLOAD_BYTES


def read_text(file: Path | None) -> tuple[str, bytes]:
    """Return a name to show and the bytes to stream.

    Raises:
        Stop: The file can not be read, is too large, or there is no README to be found.
    """
    name, content = _named(file) if file is not None else _readme()
    if len(content) > MAX_PAYLOAD_BYTES:
        raise Stop(Code.USAGE, f"{name} is over {MAX_PAYLOAD_BYTES >> 20} MiB: take a smaller text")
    return name, content


def _named(file: Path) -> tuple[str, bytes]:
    try:
        return str(file), file.read_bytes()
    except OSError as exc:
        raise Stop(Code.USAGE, f"{file} can not be read: {exc.strerror}") from exc


def _readme() -> tuple[str, bytes]:
    tree = Path(__file__).resolve().parents[4]
    if (tree / "pyproject.toml").is_file() and (tree / "README.md").is_file():
        content = (tree / "README.md").read_bytes()
        if content:
            return "README.md", content
    try:
        described = metadata.metadata("tailrace")
    except metadata.PackageNotFoundError:
        raise Stop(Code.USAGE, "there is no README here: name a text file") from None
    # The README travels in the distribution's metadata, as its body or (older tools) as a header.
    text = getattr(described, "get_payload", lambda: "")() or described.json.get("description", "")
    if not text:
        raise Stop(Code.USAGE, "there is no README in this installation: name a text file")
    return "Tailrace's README", str(text).encode("utf-8", "surrogateescape")
