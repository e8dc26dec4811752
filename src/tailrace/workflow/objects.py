"""What a pass of retention asks to be done about objects outside of the database, before it removes rows."""

from typing import NamedTuple, Protocol


class Released(NamedTuple):
    """What was released of a stream or a run.

    Attributes:
        deleted: Objects that were deleted.
        steps: Transactions of the budget that it took.
        done: Whether nothing is left to release.
    """

    deleted: int
    steps: int
    done: bool


class Objects(Protocol):
    """What goes before items do: the objects of payloads that only they refer to, wherever those are stored."""

    @property
    def grace(self) -> int:
        """Microseconds after which what nobody claims is discarded."""
        ...

    def release_stream(self, stream_id: int, most: int) -> Released:
        """Give up what a stream claims, and delete what nobody else does.

        Args:
            most: Steps, at most.

        Raises:
            DurableStreamError: An object could not be deleted: the stream is to stay as it is.
        """
        ...

    def release_run(self, run_id: int, most: int) -> Released:
        """The same for all streams of a run."""
        ...

    def discard(self, payload_id: int) -> bool:
        """Delete an object that nobody claims; return whether it was deleted.

        Raises:
            DurableStreamError: It could not be.
        """
        ...
