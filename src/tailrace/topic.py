"""A topic, for threads and greenlets: check the arguments, hand on to the engine."""

from collections.abc import Iterable

from typing_extensions import override

from tailrace import arguments
from tailrace.engine import Engine
from tailrace.protocols import DurableStreamProducer, DurableStreamTopic
from tailrace.records import TopicCursor
from tailrace.subscription import Subscription


class Producer(DurableStreamProducer):
    """The writing half of a topic. Thread-safe."""

    __slots__ = ("_engine", "_name")

    def __init__(self, engine: Engine, name: str) -> None:
        self._engine = engine
        self._name = name

    @property
    def name(self) -> str:
        """The topic's name."""
        return self._name

    @override
    def append(self, payload: bytes) -> None:
        """Append one record; block until the store has accepted it.

        Concurrent calls share one commit. One call never stores more than one record.

        Raises:
            InvalidTypeError: ``payload`` is not bytes.
            PayloadTooLargeError: It is over the limit; nothing was sent.
            TopicSealedError: The topic is sealed; nothing was stored.
            DurableStreamUnavailableError: Not stored, or unknown (``maybe_stored``).
        """
        self._engine.writing.append(self._name, (arguments.payload_bytes(payload),))

    def append_many(self, payloads: Iterable[bytes]) -> None:
        """Append records contiguously and in order, in one round trip; block until they are stored.

        All or nothing where the store can (``capabilities.atomic_batches``). No payloads, nothing done.

        Raises:
            As ``append``; and InvalidArgumentError for more than 4096 payloads.
        """
        checked = arguments.payload_list(payloads)
        if checked:
            self._engine.writing.append(self._name, checked)

    def append_in(self, connection: object, payloads: Iterable[bytes]) -> None:
        """Append records inside your own transaction: the outbox. They are stored if it commits, and only then.

        From this call to the end of the transaction the topic is locked: others who append to it wait, other topics
        do not. Keep it short, and append to several topics in one order everywhere. Blocks on the store; nothing is
        sent again, and no other append shares its commit.

        Args:
            connection: Of yours, to the database of this store: a DB-API connection (psycopg, PyMySQL, mysqlclient), or
                a ``Connection`` or ``Session`` of SQLAlchemy.
            payloads: Contiguous and in order. None of them, nothing done.

        Raises:
            InvalidArgumentError: This store is in no database, or the connection is not one to it, or has no
                transaction open; or as ``append_many``.
            PayloadTooLargeError: One is over the limit; nothing was sent.
            TopicSealedError: The topic is sealed.
            DurableStreamUnavailableError: A statement failed: roll the transaction back.
        """
        checked = arguments.payload_list(payloads)
        if checked:
            self._engine.writing.append_in(connection, self._name, checked)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._name!r}>"


class Topic(Producer, DurableStreamTopic):
    """A named, ordered, append-only sequence of records. Thread-safe; cheap to make; holds nothing open."""

    __slots__ = ()

    @override
    def as_producer(self) -> Producer:
        """Return a view that can only append."""
        return Producer(self._engine, self._name)

    @override
    def subscribe_from_beginning(self) -> Subscription:
        """Subscribe from the earliest record that is retained now, inclusive. Blocks on the store.

        Raises:
            DurableStreamUnavailableError: The store is away.
        """
        return Subscription(self._engine.open(self._name, self._engine.beginning(self._name)))

    @override
    def subscribe_from_cursor(self, cursor: TopicCursor) -> Subscription:
        """Subscribe strictly after a cursor of this topic. Blocks on the store.

        Raises:
            CursorUnavailableError: It is not one of this topic (found without asking the store), or it is gone.
            DurableStreamUnavailableError: The store is away.
        """
        return Subscription(self._engine.open(self._name, self._engine.resume(self._name, cursor)))

    @override
    def subscribe_from_tail(self) -> Subscription:
        """Subscribe strictly after the record that is the last one now. Blocks on the store.

        Raises:
            DurableStreamUnavailableError: The store is away.
        """
        return Subscription(self._engine.open(self._name, self._engine.tail(self._name)))

    def checkpoint(self) -> TopicCursor:
        """Return a cursor for the current tail: fix the start now, dispatch the work, subscribe later.

        Raises:
            DurableStreamUnavailableError: The store is away.
        """
        return self._engine.codec(self._name).encode(self._engine.tail(self._name))

    @override
    def seal(self, *, error: str | None = None) -> None:
        """End the topic for good. Idempotent: the first seal stands. Blocks on the store.

        Args:
            error: Why the topic ends as failed; readers find it in ``subscription.end``.

        Raises:
            DurableStreamUnavailableError: The store is away; sealing again is always safe.
        """
        self._engine.seal(self._name, arguments.seal_error(error))
