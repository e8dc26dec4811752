"""What the demo says while it plays: a progress bar on a terminal, plain lines elsewhere."""

import sys
from typing import TYPE_CHECKING

from tailrace.cli import output

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Show:
    """Says nothing: for ``--json``, and the base of the others."""

    def begins(self, total: int) -> None:
        """The play begins, with so many events to come."""

    def reached(self, events: int) -> None:
        """The consumer has been given so many of them. Called often."""

    def killed(self, number: int, role: str, pid: int, events: int) -> None:
        """A role was killed when the consumer had been given so many events."""

    def ends(self) -> None:
        """Nothing more is shown. Called once, also when the play is broken off."""


class PlainShow(Show):
    """One line per kill and per quarter of the stream."""

    def __init__(self) -> None:
        self._total = 0
        self._quarters = 0

    def begins(self, total: int) -> None:
        self._total = total

    def reached(self, events: int) -> None:
        quarters = events * 4 // self._total
        if quarters > self._quarters:
            self._quarters = quarters
            self._say(f"  delivered {events:,} of {self._total:,} events")

    def killed(self, number: int, role: str, pid: int, events: int) -> None:
        self._say(f"  kill {number}: SIGKILL to the {role} (pid {pid}) at event {events:,}; started again")

    def _say(self, line: str) -> None:
        output.line(line)
        sys.stdout.flush()


class LiveShow(PlainShow):
    """A progress bar, with the kills above it."""

    def __init__(self) -> None:
        super().__init__()
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def begins(self, total: int) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        super().begins(total)
        columns = (TextColumn("  {task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._progress = Progress(*columns)
        self._task = self._progress.add_task("events delivered", total=total)
        self._progress.start()

    def reached(self, events: int) -> None:
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, completed=events)

    def ends(self) -> None:
        if self._progress is not None:
            self._progress.stop()

    def _say(self, line: str) -> None:
        if self._progress is not None:
            self._progress.console.print(line, markup=False, highlight=False)
