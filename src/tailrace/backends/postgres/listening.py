"""Following topics by LISTEN: whoever appends says so on a channel, after the commit."""

from collections.abc import Collection

from tailrace.backends.postgres.channels import Channels, words
from tailrace.backends.postgres.line import Line
from tailrace.backends.postgres.pulse import PostgresPulse


class Listening:
    """Not thread-safe. Raises what ``Line`` raises.

    Args:
        line: What it listens on.
        name: Of the server, for messages.
        patience: Seconds that sending may take.
    """

    def __init__(self, line: Line, channels: Channels, name: str, patience: float) -> None:
        self._line = line
        self._channels = channels
        self._pulse = PostgresPulse(line, name, patience)
        self._followed: dict[str, dict[str, set[str]]] = {}

    @property
    def reliable(self) -> bool:
        """Whether the other end is known to be there."""
        return self._pulse.asked is None

    @property
    def due(self) -> float:
        """When ``tend`` has something to do again."""
        return self._pulse.due

    def follow(self, added: Collection[str], dropped: Collection[str], deadline: float) -> None:
        """Change what is followed; return when the server has confirmed the channels."""
        before = self._followed.keys() | set()
        for topic in dropped:
            self._drop(topic)
        for topic in added:
            channel, word = self._channels.of(topic)
            self._followed.setdefault(channel, {}).setdefault(word, set()).add(topic)
        changes = [f"UNLISTEN {channel}" for channel in before - self._followed.keys()]
        changes += [f"LISTEN {channel}" for channel in self._followed.keys() - before]
        if changes:
            self._pulse.settle(deadline)
            self._line.ask("; ".join(changes), None, deadline)

    def tend(self, now: float) -> None:
        """Ask a silent server whether it is there."""
        self._pulse.look_after(now)

    def hear(self) -> None:
        """Take in what has arrived."""
        self._pulse.hear()

    def take(self) -> frozenset[str]:
        """Return the topics that moved since the last time."""
        moved = set()
        for channel, message in self._line.notifications():
            here = self._followed.get(channel, {})
            for word in words(message) or here:
                moved |= here.get(word, set())
        return frozenset(moved)

    def _drop(self, topic: str) -> None:
        channel, word = self._channels.of(topic)
        here = self._followed.get(channel, {})
        topics = here.get(word, set())
        topics.discard(topic)
        if not topics:
            here.pop(word, None)
        if not here:
            self._followed.pop(channel, None)
