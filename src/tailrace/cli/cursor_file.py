"""The file in which ``tail --cursor-file`` keeps its place: one line, the cursor, replaced in one step."""

from pathlib import Path

from tailrace.cli import files
from tailrace.cli.exits import Code, Stop
from tailrace.errors import CursorUnavailableError
from tailrace.records import TopicCursor


class CursorFile:
    """One reader's place on disk. For one process at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self) -> TopicCursor | None:
        """Return the saved cursor; ``None`` if the file does not exist.

        Raises:
            CursorUnavailableError: The file holds something else. An empty file counts as that: starting
                over silently would repeat, or skip, everything.
            Stop: It can not be read.
        """
        try:
            text = self.path.read_bytes().decode("ascii", "replace").strip()
        except FileNotFoundError:
            return None
        except OSError as exc:
            raise Stop(Code.USAGE, f"{self.path} can not be read: {exc.strerror}") from exc
        if not text:
            raise CursorUnavailableError("the file is empty")
        return TopicCursor(text)

    def save(self, cursor: TopicCursor) -> None:
        """Replace the saved cursor; it is on disk when this returns.

        Raises:
            Stop: It can not be written; the old one stands.
        """
        try:
            files.replace(self.path, cursor.encode("ascii") + b"\n")
        except OSError as exc:
            raise Stop(Code.NOT_WRITTEN, f"{self.path} can not be written: {exc.strerror}") from exc
