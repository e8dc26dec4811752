"""What both colours of the facades do alike: whose runs they are, and what they are called."""

from typing import ClassVar

from tailrace.errors import InvalidTypeError
from tailrace.workflow import bounds
from tailrace.workflow.errors import InvalidFieldsError
from tailrace.workflow.model import DEFAULT_NAMESPACE, Run, StreamRef

FOLLOW_SECONDS = 30
"""How long one request of an iteration waits for an item."""

OUTAGE_BUDGET = 30.0
"""Seconds from the first failure for which an iteration rides out a store that is away."""


def namespace_of(namespace: object) -> str:
    """Return a namespace as it is compared: in lower case.

    Raises:
        InvalidTypeError: It is not text.
        InvalidFieldsError: It is none.
    """
    if not isinstance(namespace, str):
        raise InvalidTypeError(f"a namespace must be text, not {type(namespace).__name__}")
    lowered = namespace.lower() or DEFAULT_NAMESPACE
    bounds.check_run(Run(lowered, "-", "-"))
    if not bounds.is_namespace(lowered):
        raise InvalidFieldsError({"namespace": ["must be of printable characters of ASCII, without a space at an end"]})
    return lowered


def run_of(namespace: str, workflow_id: object, run_id: object) -> Run:
    """Return the identity of a run.

    Raises:
        InvalidTypeError: An id is not text.
        InvalidFieldsError: It is no id.
    """
    for name, value in (("workflow_id", workflow_id), ("run_id", run_id)):
        if not isinstance(value, str):
            raise InvalidTypeError(f"{name} must be text, not {type(value).__name__}")
    run = Run(namespace, str(workflow_id), str(run_id))
    bounds.check_run(run)
    return run


def reason_of(reason: object) -> str:
    """Return why a stream ends as errored: without one, it would be closed.

    Raises:
        InvalidTypeError: It is not text.
        InvalidFieldsError: It has not 1 to 191 characters.
    """
    if not isinstance(reason, str):
        raise InvalidTypeError(f"a reason must be text, not {type(reason).__name__}")
    bounds.check_end(reason, None)
    return reason


class RunFacade:
    """One run, as its user sees it."""

    _colour: ClassVar[str] = ""

    def __init__(self, run: Run) -> None:
        self._run = run

    @property
    def workflow_id(self) -> str:
        """Of the workflow."""
        return self._run.workflow_id

    @property
    def run_id(self) -> str:
        """Of this run of it."""
        return self._run.run_id

    def _stream(self, name: object) -> StreamRef:
        return self._run.stream(bounds.check_name(name))

    def __repr__(self) -> str:
        return f"<{self._colour}{type(self).__name__} {self._run.workflow_id!r} {self._run.run_id!r}>"
