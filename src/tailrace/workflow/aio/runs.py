"""Runs of workflows, for coroutines: in a database of this process, or over HTTP."""

from types import TracebackType
from typing import Self

from typing_extensions import Unpack

from tailrace.workflow.addressing import namespace_of, run_of
from tailrace.workflow.aio import opening
from tailrace.workflow.aio.service import AsyncService
from tailrace.workflow.aio.streams import RunStreams
from tailrace.workflow.identifiers import new_run_id
from tailrace.workflow.model import DEFAULT_NAMESPACE, RunInfo, SweepResult
from tailrace.workflow.opening import WorkflowOptions


async def connect(url: str, *, namespace: str = DEFAULT_NAMESPACE, **options: Unpack[WorkflowOptions]) -> "Workflows":
    """Open a database that holds runs, or a server that serves them. Waits for it.

    Args:
        url: ``sqlite:///events.db``, ``postgresql://...``, ``mysql://...``, or ``https://streams.example.com``.
        namespace: Whose runs.
        options: See :class:`WorkflowOptions`: ``token``, ``timeout``, ``create``, ``settings``.

    Raises:
        InvalidArgumentError: The URL or an option is wrong.
        StoreUnusableError: The store can not be used as it is; the message says what to do.
        DurableStreamUnavailableError: The store is away.
    """
    namespace = namespace_of(namespace)
    return Workflows(await opening.open_service(url, options, namespace), namespace=namespace)


class Workflows:
    """Runs in one namespace. May be used from several loops.

    Args:
        service: Closed with this.
        namespace: Whose runs.
    """

    def __init__(self, service: AsyncService, *, namespace: str = DEFAULT_NAMESPACE) -> None:
        self._service = service
        self._namespace = namespace

    def run(self, workflow_id: str, run_id: str) -> RunStreams:
        """Return the streams of a run. Does no I/O and creates nothing.

        Raises:
            InvalidFieldsError: No run can have such ids.
        """
        return RunStreams(self._service, run_of(self._namespace, workflow_id, run_id))

    async def start(
        self,
        workflow_id: str,
        run_id: str | None = None,
        *,
        workflow_type: str | None = None,
        task_queue: str | None = None,
    ) -> RunInfo:
        """Register a run; ``None``: under an id that is new.

        Raises:
            RunExistsError: It is there already, or another run of this workflow goes on.
            DurableStreamUnavailableError: The store is away; the run may be there (``maybe_stored``).
        """
        run = run_of(self._namespace, workflow_id, new_run_id() if run_id is None else run_id)
        return await self._service.start_run(run, workflow_type=workflow_type, task_queue=task_queue)

    async def describe(self, workflow_id: str, run_id: str | None = None) -> RunInfo:
        """Return what a run looks like; ``None``: the one that was started last.

        Raises:
            RunNotFoundError: There is no such run.
            DurableStreamUnavailableError: The store is away.
        """
        if run_id is None:
            return await self._service.latest_run(
                self._namespace, run_of(self._namespace, workflow_id, "-").workflow_id
            )
        return await self._service.describe_run(run_of(self._namespace, workflow_id, run_id))

    async def end(self, workflow_id: str, run_id: str) -> RunInfo:
        """Note that a run has ended. Its streams stay as they are. Idempotent: the first end stands.

        Raises:
            RunNotFoundError: There is no such run.
            DurableStreamUnavailableError: The store is away.
        """
        return await self._service.end_run(run_of(self._namespace, workflow_id, run_id))

    async def delete(self, workflow_id: str, run_id: str) -> bool:
        """Remove a run with its streams and items; return whether it was there.

        Raises:
            DurableStreamUnavailableError: The store is away.
        """
        return await self._service.delete_run(run_of(self._namespace, workflow_id, run_id))

    async def sweep(self) -> SweepResult:
        """Do one pass of retention, in all namespaces; go on while it is not ``done``.

        Raises:
            InvalidArgumentError: Over HTTP: the server does it.
            DurableStreamUnavailableError: The store is away.
        """
        return await self._service.sweep()

    async def close(self) -> None:
        """Release everything; what waits ends. Idempotent, never raises."""
        await self._service.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<aio.Workflows {self._namespace!r} of {self._service!r}>"
