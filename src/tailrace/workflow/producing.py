"""What a producer does to a stream in a database: each call is one transaction, and whoever follows hears of it.

Appending: ``batch.py`` checks the payloads, ``store/appending.py`` locks, and ``rules.py`` decides.
"""

from collections.abc import Sequence
from functools import partial

from tailrace.engine import Engine
from tailrace.spi import Database
from tailrace.workflow.batch import batch_of
from tailrace.workflow.delivery import Deliveries
from tailrace.workflow.following import as_delivered
from tailrace.workflow.model import Appended, NewItem, Stream, StreamRef
from tailrace.workflow.payloads.referred import ReferredPayloads
from tailrace.workflow.store import appending, ending


class Producing:
    """Thread-safe; blocks. What it is given is within its bounds already.

    Args:
        engine: Is told which streams have moved.
        deliveries: What this process has delivered, and the store may not know yet.
        referred: Looks at what items refer to.
        upload_grace: Microseconds that a payload may wait to be claimed.
        create_runs: Whether a run begins with its first append.
        timeout: Seconds that one transaction may take.
    """

    def __init__(
        self,
        database: Database,
        engine: Engine,
        deliveries: Deliveries,
        referred: ReferredPayloads,
        *,
        upload_grace: int,
        create_runs: bool,
        timeout: float,
    ) -> None:
        self._database = database
        self._engine = engine
        self._deliveries = deliveries
        self._referred = referred
        self._upload_grace = upload_grace
        self._create_runs = create_runs
        self._timeout = timeout

    def append(
        self, stream: StreamRef, items: Sequence[NewItem], max_pending_items: int, lease_seconds: int | None
    ) -> Appended:
        """Append items, all or none.

        Raises:
            InvalidFieldsError, TooLargeError: A payload is no JSON; there is more than is taken at once.
            PayloadError: An item refers to a payload that can not be had.
            WorkflowStreamError: The rules refuse it.
        """
        work = partial(
            appending.append,
            stream=stream,
            batch=batch_of(items),
            cap=max_pending_items,
            lease_seconds=lease_seconds,
            delivered=self._deliveries.of(stream.topic),
            create_run=self._create_runs,
            claims=self._referred.prepare(stream.run.namespace, items),
            upload_grace=self._upload_grace,
        )
        appended = self._database.change(work, self._timeout)
        if appended.accepted:
            self._engine.hint(stream.topic)
        return appended

    def end(self, stream: StreamRef, error_reason: str | None, retention_seconds: int | None) -> Stream:
        """Close a stream, or end it as errored if there is a reason.

        Raises:
            RunNotFoundError, StreamNotFoundError: It is not there.
        """
        delivered = self._deliveries.of(stream.topic)
        work = partial(ending.end, stream=stream, error_reason=error_reason, retention_seconds=retention_seconds)
        ended = self._database.change(work, self._timeout)
        self._engine.hint(stream.topic)
        return as_delivered(ended, delivered)

    def renew(self, stream: StreamRef, lease_seconds: int) -> Stream:
        """Note that the producer is alive.

        Raises:
            RunNotFoundError, StreamNotFoundError: It is not there.
            StreamClosedError, StreamErroredError: It has ended.
        """
        delivered = self._deliveries.of(stream.topic)
        work = partial(ending.renew, stream=stream, lease_seconds=lease_seconds)
        return as_delivered(self._database.change(work, self._timeout), delivered)
