"""What tests look at, and do, behind the back of a service with payloads: its tables, its directory, its clock."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tailrace.spi import Ask, Database

GRACE = 3600.0
HOUR = int(GRACE * 1_000_000)


class Inside:
    """One database, and the directory with its payloads.

    Attributes:
        database: Where the rows are.
        root: Where the objects are.
    """

    database: Database
    root: Path

    def age(self) -> None:
        """Let the grace of every upload pass, and the time after which what failed is tried again."""
        self.change("UPDATE {workflow_payloads} SET uploaded_at = uploaded_at - ?", HOUR)
        self.change("UPDATE {workflow_payloads} SET discard_at = uploaded_at WHERE discard_at IS NOT NULL")

    def change(self, statement: str, *values: int | bytes) -> None:
        def work(ask: Ask) -> tuple[None, list[str]]:
            ask.do(statement, *values)
            return None, []

        self.database.change(work, 10.0)

    def count(self, table: str) -> int:
        rows = self.database.look(lambda ask: ask(f"SELECT count(*) FROM {{{table}}}"))
        return int(rows[0][0])

    @property
    def states(self) -> list[int]:
        """How far each payload has come."""
        return [row[0] for row in self.database.look(lambda ask: ask("SELECT state FROM {workflow_payloads}"))]

    @property
    def objects(self) -> list[str]:
        """Ids, or names, of what is in the storage."""
        found = (path for path in self.root.glob("*/**/*") if path.is_file())
        return sorted(path.name.partition(".")[0] for path in found)

    @contextlib.contextmanager
    def storage_away(self) -> Iterator[None]:
        aside = self.root.with_name("aside")
        self.root.rename(aside)
        self.root.write_text("a file where the directory was")
        yield
        self.root.unlink()
        aside.rename(self.root)
