"""The evidence: what was delivered to the consumer, written down before anything is done with it.

One line is one unbuffered write to the end of the file, so it survives the kill of the process that made it.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path


class DeliveryLog:
    """The consumer's side: append only."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def life_begins(self, records: int) -> None:
        """Note a (re)start that keeps the first ``records`` records and goes on after them."""
        os.write(self._descriptor, f"life {records}\n".encode("ascii"))

    def delivered(self, number: int) -> None:
        """Note that ``receive`` returned the event of this number."""
        os.write(self._descriptor, f"{number}\n".encode("ascii"))


@dataclass(slots=True)
class Life:
    """One run of the consumer: how many records it kept from before, and what it was given."""

    kept: int
    numbers: list[int] = field(default_factory=list)


class Deliveries:
    """The referee's side: reads what has been added since the last look."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self.lives: list[Life] = []

    def look(self) -> None:
        """Read on. Does nothing while the file is not there."""
        try:
            with self._path.open("rb") as stream:
                stream.seek(self._offset)
                news = stream.read()
        except FileNotFoundError:
            return
        whole, newline, _unfinished = news.rpartition(b"\n")
        self._offset += len(whole) + len(newline)
        for line in whole.decode("ascii").splitlines():
            if line.startswith("life "):
                self.lives.append(Life(int(line.removeprefix("life "))))
            else:
                self.lives[-1].numbers.append(int(line))

    @property
    def reached(self) -> int:
        """How many events, counted from the first, have been delivered at least once."""
        return max((life.numbers[-1] + 1 for life in self.lives if life.numbers), default=0)
