"""What both colours show alike of a topic, and of whoever listens to it."""

from typing import ClassVar

from tailrace.records import TopicCursor
from tailrace.rollout.course import Course
from tailrace.rollout.listener import Listener


class Part:
    """What all views of a topic have."""

    _package: ClassVar[str] = "rollout"

    def __init__(self, course: Course) -> None:
        self._course = course

    @property
    def name(self) -> str:
        """The topic's name."""
        return self._course.name

    def __repr__(self) -> str:
        return f"<{self._package}.{type(self).__name__} {self._course!r}>"


class Following:
    """Where a subscription is at the moment."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    @property
    def cursor(self) -> TopicCursor | None:
        """Where to resume after the last event: known while it is at the stream, or on its way there; else ``None``."""
        return self._listener.cursor

    @property
    def at_both(self) -> bool:
        """Whether it follows both ways at the moment."""
        return self._listener.at_both

    @property
    def dropped(self) -> int:
        """How many live messages are known to have been dropped."""
        return self._listener.dropped
