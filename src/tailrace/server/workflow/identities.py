"""From what stands in a path to the identities of runs and streams, and the right to read one stream. Pure."""

from collections.abc import Mapping
from urllib.parse import unquote_to_bytes

from tailrace.server.principals import Action, Grant
from tailrace.workflow.bounds import check_name
from tailrace.workflow.errors import InvalidFieldsError
from tailrace.workflow.model import Run, StreamRef


def text_of(segments: Mapping[str, bytes], name: str) -> str:
    """Return an id.

    Raises:
        InvalidFieldsError: It is no UTF-8.
    """
    try:
        return unquote_to_bytes(segments[name]).decode()
    except UnicodeDecodeError:
        raise InvalidFieldsError({name: ["must be percent-encoded UTF-8"]}) from None


def run_of(namespace: str, segments: Mapping[str, bytes]) -> Run:
    """Return a run.

    Raises:
        InvalidFieldsError: An id is no UTF-8.
    """
    return Run(namespace, text_of(segments, "workflow_id"), text_of(segments, "run_id"))


def stream_of(namespace: str, segments: Mapping[str, bytes]) -> StreamRef:
    """Return a stream.

    Raises:
        InvalidFieldsError: An id is no UTF-8.
        InvalidStreamNameError: No stream can have that name.
    """
    # What is no UTF-8 is no name either, and is refused as that.
    name = unquote_to_bytes(segments["stream_name"]).decode(errors="replace")
    return run_of(namespace, segments).stream(check_name(name))


def right_to_read(stream: StreamRef) -> Grant:
    """Return what a ticket for one stream gives.

    No topic can have that name, so that nobody gets this right who may only read topics and hand out tickets for them.
    """
    return Grant(Action.READ, f"\0{stream.topic}", exact=True)
