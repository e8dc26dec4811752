"""Runs and their streams in a database that this process uses itself: checks what it is given, and hands it on.

Who follows a stream: ``following.py``. Who writes one: ``producing.py``. The runs themselves: ``register.py``.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from typing_extensions import override

from tailrace.engine import Engine, Workers
from tailrace.errors import InvalidArgumentError
from tailrace.forks import renew_in_child
from tailrace.options import EngineOptions, positive_seconds
from tailrace.spi import Backend, Boundary, Database, Relational
from tailrace.sweeping import Sweeping
from tailrace.workflow import bounds
from tailrace.workflow.awaited_topics import DocumentTopic
from tailrace.workflow.backend import WorkflowBackend
from tailrace.workflow.bounds import DEFAULT_PAGE_ITEMS, MAX_PENDING_ITEMS
from tailrace.workflow.cancellation import Cancellation
from tailrace.workflow.delivery import Deliveries
from tailrace.workflow.errors import NamespaceNotFoundError
from tailrace.workflow.following import Following
from tailrace.workflow.model import Appended, ItemPage, Mark, NewItem, Run, RunInfo, Stream, StreamRef, SweepResult
from tailrace.workflow.payloads.drivers import PayloadDriver
from tailrace.workflow.payloads.holding import Holds
from tailrace.workflow.payloads.referred import ReferredPayloads
from tailrace.workflow.payloads.registry import Registry
from tailrace.workflow.payloads.release import PayloadRelease
from tailrace.workflow.payloads.settings import PayloadSettings
from tailrace.workflow.payloads.storage import Storage
from tailrace.workflow.producing import Producing
from tailrace.workflow.register import RunRegister
from tailrace.workflow.service import Service
from tailrace.workflow.settings import WorkflowSettings
from tailrace.workflow.store import delivering, reading
from tailrace.workflow.sweeping import Sweeper
from tailrace.workflow.topics import Note, StreamTopic
from tailrace.workflow.waiting import Wanted

T = TypeVar("T")

WORKERS = 32
"""Calls of event loops that wait for the database at once, at most."""


class EmbeddedService(Service):
    """Thread-safe; blocks, but for what is awaited. A forked child may go on using it.

    Args:
        store: In whose database the runs are; closed with this.
        settings: Which runs there are, and for how long.
        options: Of the engine.
        payload_driver: The storage of payloads outside of the database; closed with this.
        payload_settings: How much of them there may be.

    Attributes:
        settings: Which runs there are, and for how long.
        database: Where they are, for who looks at its tables; closed with this.
        engine: What whoever waits stands at.
        payloads: Uploads and fetches of payloads.
        referred: The payloads that items refer to.
        holds: For backups of payloads.

    Raises:
        InvalidArgumentError: The store is in no database.
    """

    def __init__(
        self,
        store: Backend,
        settings: WorkflowSettings | None = None,
        *,
        options: EngineOptions | None = None,
        payload_driver: PayloadDriver | None = None,
        payload_settings: PayloadSettings | None = None,
    ) -> None:
        if not isinstance(store, Relational):
            name = store.capabilities.store
            raise InvalidArgumentError(
                f"workflow streams need a database (SQLite, PostgreSQL, MySQL or MariaDB), and {name} is none"
            )
        options = options or EngineOptions()
        self.settings = settings or WorkflowSettings()
        self.database: Database = store.database
        self._timeout = options.append_timeout
        self.engine = Engine(WorkflowBackend(store, self.database, self.settings.tombstone_for), options)
        self._workers = Workers(WORKERS)
        self._storage = Storage(payload_driver)
        self.payloads = Registry(self.database, self._storage, payload_settings or PayloadSettings(), self._timeout)
        self.referred = ReferredPayloads(self.database, self._storage, self.payloads, self._timeout)
        self.holds = Holds(self.database, self._timeout)
        objects = PayloadRelease(self.database, self._storage, self.payloads.grace, self._timeout)
        self._deliveries = Deliveries(self._note_deliveries)
        self._following = Following(self.database, self.engine, self._deliveries, self.run)
        self._producing = Producing(
            self.database,
            self.engine,
            self._deliveries,
            self.referred,
            upload_grace=self.payloads.grace,
            create_runs=self.settings.runs == "implicit",
            timeout=self._timeout,
        )
        self._register = RunRegister(self.database, self.engine, objects, self._timeout)
        self._sweeper = Sweeper(self.database, self.settings, self._timeout, self.engine.hint, objects)
        renew_in_child(self)

    def after_fork(self) -> None:
        """Start afresh: the parent's threads are the parent's."""
        self._workers = Workers(WORKERS)

    @override
    def list_streams(self, run: Run) -> Sequence[Stream]:
        self._check_run(run)
        return self._following.list_streams(run)

    @override
    def describe(self, stream: StreamRef) -> Stream:
        self._check_stream(stream)
        return self._following.describe(stream)

    @override
    def subscribe(
        self,
        stream: StreamRef,
        *,
        from_offset: int = 0,
        max_items: int = DEFAULT_PAGE_ITEMS,
        wait_seconds: int = 0,
        cancellation: Cancellation | None = None,
    ) -> ItemPage:
        wanted = self._wanted(stream, from_offset, max_items, wait_seconds)
        return self._following.page(wanted, wait_seconds, cancellation)

    async def subscribe_async(
        self,
        stream: StreamRef,
        *,
        from_offset: int = 0,
        max_items: int = DEFAULT_PAGE_ITEMS,
        wait_seconds: int = 0,
    ) -> ItemPage:
        """Like ``subscribe``, awaited: whoever waits holds no thread. Cancelled, it leaves nothing behind."""
        return await self._following.page_async(
            self._wanted(stream, from_offset, max_items, wait_seconds), wait_seconds
        )

    @override
    def append(
        self,
        stream: StreamRef,
        items: Sequence[NewItem],
        *,
        max_pending_items: int = MAX_PENDING_ITEMS,
        lease_seconds: int | None = None,
    ) -> Appended:
        self._check_stream(stream)
        bounds.check_append(items, max_pending_items, lease_seconds)
        return self._producing.append(stream, items, max_pending_items, lease_seconds)

    @override
    def end(
        self, stream: StreamRef, *, error_reason: str | None = None, retention_seconds: int | None = None
    ) -> Stream:
        self._check_stream(stream)
        bounds.check_end(error_reason, retention_seconds)
        return self._producing.end(stream, error_reason, retention_seconds)

    @override
    def renew(self, stream: StreamRef, lease_seconds: int) -> Stream:
        self._check_stream(stream)
        bounds.check_lease(lease_seconds)
        return self._producing.renew(stream, lease_seconds)

    @override
    def start_run(self, run: Run, *, workflow_type: str | None = None, task_queue: str | None = None) -> RunInfo:
        self._check_run(run)
        bounds.check_start(workflow_type, task_queue)
        return self._register.start(run, workflow_type, task_queue)

    @override
    def describe_run(self, run: Run) -> RunInfo:
        self._check_run(run)
        return self._register.describe(run)

    @override
    def latest_run(self, namespace: str, workflow_id: str) -> RunInfo:
        self._check_run(Run(namespace, workflow_id, "-"))
        return self._register.latest(namespace, workflow_id)

    @override
    def end_run(self, run: Run) -> RunInfo:
        self._check_run(run)
        return self._register.end(run)

    @override
    def delete_run(self, run: Run) -> bool:
        self._check_run(run)
        return self._register.delete(run)

    @override
    def sweep(self) -> SweepResult:
        return self._sweeper.sweep()

    def sweep_every(self, seconds: float) -> Sweeping[SweepResult]:
        """Sweep now, and again every so many seconds, in a thread, until what is returned or the service is closed."""
        positive_seconds("seconds", seconds)
        return Sweeping(self.sweep, seconds, lambda: self.engine.closed)

    def topic(self, stream: StreamRef) -> StreamTopic:
        """Return a stream as a topic. Does no I/O and opens nothing."""
        return StreamTopic(self, stream, self.engine, self.note_of(stream))

    def document_topic(self, stream: StreamRef) -> DocumentTopic:
        """Return a stream as an awaited topic of documents. Does no I/O and opens nothing."""
        return DocumentTopic(self.engine, stream.topic, self.note_of(stream))

    def note_of(self, stream: StreamRef) -> Note:
        """Return what takes note of deliveries: called with the offset of an item behind which there was no other."""
        self._check_stream(stream)
        return partial(self._deliveries.note, stream.topic)

    def place_before(self, stream: StreamRef, offset: int) -> Boundary:
        """Return the place that a reader starts at who wants items from an offset on. Blocks.

        Raises:
            RunNotFoundError, StreamNotFoundError: It is not there.
            InvalidFieldsError: The stream has not come so far.
        """
        self._check_stream(stream)
        bounds.check_page(offset, 1)
        return self.database.look(partial(reading.place_before, stream=stream, offset=offset))

    async def run(self, work: Callable[[], T]) -> T:
        """Run something that blocks on the database in a worker, on behalf of an event loop."""
        return await asyncio.wrap_future(self._workers.run(work))

    @override
    def close(self) -> None:
        self._deliveries.close()
        self._workers.close()
        self.engine.close()
        self._storage.close()

    def _wanted(self, stream: StreamRef, from_offset: int, max_items: int, wait_seconds: int) -> Wanted:
        self._check_stream(stream)
        bounds.check_page(from_offset, max_items, wait_seconds)
        return Wanted(stream, from_offset, max_items)

    def _note_deliveries(self, delivered: Mapping[str, Mark]) -> None:
        self.database.change(partial(delivering.note, delivered=delivered), self._timeout)

    def _check_run(self, run: Run) -> None:
        if run.namespace not in self.settings.namespaces:
            raise NamespaceNotFoundError("there is no such namespace here")
        bounds.check_run(run)

    def _check_stream(self, stream: StreamRef) -> None:
        self._check_run(stream.run)
        bounds.check_name(stream.name)
