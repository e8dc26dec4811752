"""The tables of a store, apart from using them: which there are, which are missing, and making them."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Migration(NamedTuple):
    """One step of a schema: the version that it leads to, and the statements as they would be run."""

    version: int
    script: str


class Schema(Protocol):
    """What ``tailrace migrate`` works on; made by a module's ``open_schema``, beside its ``open_store``.

    Blocking. Opening it neither makes nor changes anything.
    """

    @property
    def newest(self) -> int:
        """The version that this release works with."""
        ...

    def version(self) -> int:
        """Return the version of the tables that there are; 0 for none.

        Raises:
            StoreUnusableError: They are of a newer release, or not ours; the message says what to do.
            DurableStreamUnavailableError: The store is away.
        """
        ...

    def pending(self) -> Sequence[Migration]:
        """Return what is missing, in order."""
        ...

    def apply(self) -> None:
        """Do what is missing. Safe to call from many processes at once: one does it, the others wait.

        Raises:
            StoreUnusableError: The user may not, or a statement failed. Finished steps stay; it can be called again.
        """
        ...

    def close(self) -> None:
        """Let go of the store. Idempotent, never raises."""
        ...
