"""Where one demo plays: a directory, the names in it, and the topic. Known to all roles."""

from dataclasses import dataclass
from pathlib import Path

from tailrace.cli.store import sqlite_url

TOPIC = "demo:workflow"


@dataclass(frozen=True, slots=True)
class Stage:
    """The files of one run."""

    directory: Path

    @property
    def store(self) -> str:
        """URL of the store: all that worker and consumer share."""
        return sqlite_url(self.directory / "events.db")

    @property
    def input(self) -> Path:
        """The text that the worker streams. The consumer never opens it."""
        return self.directory / "input"

    @property
    def release(self) -> Path:
        """Exists once the worker may stream the last part and finish."""
        return self.directory / "release"

    @property
    def output(self) -> Path:
        """The text as the consumer puts it together."""
        return self.directory / "output"

    @property
    def place(self) -> Path:
        """The consumer's resume point."""
        return self.directory / "place.json"

    @property
    def deliveries(self) -> Path:
        """What was delivered to the consumer, in each of its lives. Evidence only; it never reads it."""
        return self.directory / "deliveries.log"

    def words_of(self, role: str) -> Path:
        """Return the file that takes what a role writes to its standard streams."""
        return self.directory / f"{role}.log"
