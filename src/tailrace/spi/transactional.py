"""Appending inside a transaction of the application: for stores that live in a database which it uses as well."""

from typing import Protocol, runtime_checkable

from tailrace.spi.pages import Entry


@runtime_checkable
class Transactional(Protocol):
    """A fourth interface that a ``Backend`` may also satisfy."""

    def append_in(self, connection: object, entry: Entry) -> None:
        """Store an entry as part of the transaction that is open on ``connection``; neither commits nor rolls back.

        It becomes readable with the commit, and never was with a rollback. The topic stays locked until then, for
        everybody else who appends to it.

        Args:
            connection: Of the application's own, to the database of this store.

        Raises:
            InvalidArgumentError: It is no connection that this store could use, or no transaction is open on it.
            TopicSealedError: The topic is sealed.
            DurableStreamUnavailableError: Another statement failed; the transaction may have to be rolled back.
        """
        ...
