"""What a channel counts. Apart from everything else, because all threads count."""

import threading


class Tally:
    """Counters by name. Thread-safe."""

    __slots__ = ("_counts", "_lock")

    def __init__(self) -> None:
        self._counts = {"published": 0, "dropped": 0, "lost": 0}
        self.renew()

    def renew(self) -> None:
        """Let nobody hold the lock, in a child process."""
        self._lock = threading.Lock()

    def add(self, name: str, count: int = 1) -> None:
        """Count."""
        with self._lock:
            self._counts[name] += count

    def counts(self) -> dict[str, int]:
        """Return a copy."""
        with self._lock:
            return dict(self._counts)
