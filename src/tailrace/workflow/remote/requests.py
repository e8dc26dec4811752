"""Each operation as a request of the wire contract: where to, with what, and how its answer is read. No I/O."""

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar
from urllib.parse import quote, urlencode

from tailrace.workflow import bounds
from tailrace.workflow.model import Appended, ItemPage, NewItem, Run, RunInfo, Stream, StreamRef
from tailrace.workflow.remote import bodies
from tailrace.workflow.remote.rawjson import checked_json

T = TypeVar("T")

VERSION = b"2"
"""Of the control plane."""

GRACE = 5.0
"""Seconds beyond its wait in which a long poll must be answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request(Generic[T]):
    """One request.

    Attributes:
        namespace: Whose runs.
        path: Below the server's, percent-encoded.
        read: Takes the answer apart; raises ``ValueError``, ``LookupError`` or ``TypeError`` if it makes no sense.
        repeatable: Whether doing it twice comes to the same as doing it once.
        writes: Whether it may leave something behind.
        wait: Seconds that the server may wait for items; ``None``: it answers at once.
    """

    namespace: str
    path: str
    read: Callable[[bytes], T]
    method: str = "GET"
    body: bytes | None = None
    repeatable: bool = True
    writes: bool = False
    wait: int | None = None

    @property
    def headers(self) -> Sequence[tuple[bytes, bytes]]:
        """What it needs beside those of every request to that server."""
        fixed = [(b"X-Namespace", self.namespace.encode()), (b"X-Durable-Workflow-Control-Plane-Version", VERSION)]
        return fixed if self.body is None else [*fixed, (b"Content-Type", b"application/json")]


def list_streams(run: Run) -> Request[Sequence[Stream]]:
    """Ask for all streams of a run."""
    return Request(namespace=run.namespace, path=f"{_run(run)}/streams", read=bodies.streams)


def describe(stream: StreamRef) -> Request[Stream]:
    """Ask for one stream."""
    return Request(namespace=stream.run.namespace, path=_stream(stream), read=bodies.stream)


def subscribe(stream: StreamRef, from_offset: int, max_items: int, wait_seconds: int) -> Request[ItemPage]:
    """Ask for items."""
    bounds.check_page(from_offset, max_items, wait_seconds)
    query = urlencode({"from": from_offset, "max_items": max_items, "wait_seconds": wait_seconds})
    return Request(
        namespace=stream.run.namespace,
        path=f"{_stream(stream)}/items?{query}",
        read=functools.partial(bodies.page, from_offset=from_offset),
        wait=wait_seconds or None,
    )


def append(
    stream: StreamRef, items: Sequence[NewItem], max_pending_items: int, lease_seconds: int | None
) -> Request[Appended]:
    """Append items; repeatable if all of them have keys."""
    bounds.check_append(items, max_pending_items, lease_seconds)
    rest: dict[str, object] = {}
    if max_pending_items != bounds.MAX_PENDING_ITEMS:
        # A server may allow less than this release does: what nobody asked for is left to it.
        rest["max_pending_items"] = max_pending_items
    if lease_seconds is not None:
        rest["lease_seconds"] = lease_seconds
    documents = b",".join(_item(index, item) for index, item in enumerate(items))
    more = b"".join(b"," + _json(name) + b":" + _json(value) for name, value in rest.items())
    body = b'{"items":[' + documents + b"]" + more + b"}"
    return Request(
        namespace=stream.run.namespace,
        path=f"{_stream(stream)}/items",
        read=functools.partial(bodies.appended, count=len(items)),
        method="POST",
        body=body,
        repeatable=all(item.idempotency_key for item in items),
        writes=True,
    )


def end(stream: StreamRef, error_reason: str | None, retention_seconds: int | None) -> Request[Stream]:
    """Close a stream, or end it as errored."""
    bounds.check_end(error_reason, retention_seconds)
    asked = {"error_reason": error_reason, "retention_seconds": retention_seconds}
    return _post(stream.run.namespace, f"{_stream(stream)}/close", asked, bodies.stream)


def renew(stream: StreamRef, lease_seconds: int) -> Request[Stream]:
    """Tell that the producer is alive."""
    bounds.check_lease(lease_seconds)
    return _post(stream.run.namespace, f"{_stream(stream)}/lease", {"lease_seconds": lease_seconds}, bodies.stream)


def start_run(run: Run, workflow_type: str | None, task_queue: str | None) -> Request[RunInfo]:
    """Register a run. Not repeatable: done a second time, it is there already."""
    bounds.check_run(run)
    asked = {"workflow_id": run.workflow_id, "run_id": run.run_id}
    asked |= {
        name: value
        for name, value in (("workflow_type", workflow_type), ("task_queue", task_queue))
        if value is not None
    }
    return Request(
        namespace=run.namespace,
        path="/workflows",
        read=functools.partial(bodies.run_info, namespace=run.namespace),
        method="POST",
        body=_json(asked),
        repeatable=False,
        writes=True,
    )


def describe_run(run: Run) -> Request[RunInfo]:
    """Ask for a run."""
    return Request(
        namespace=run.namespace, path=_run(run), read=functools.partial(bodies.run_info, namespace=run.namespace)
    )


def latest_run(namespace: str, workflow_id: str) -> Request[RunInfo]:
    """Ask for the run of a workflow that was started last."""
    return Request(
        namespace=namespace,
        path=f"/workflows/{_segment(workflow_id)}",
        read=functools.partial(bodies.run_info, namespace=namespace),
    )


def end_run(run: Run) -> Request[RunInfo]:
    """Note that a run has ended."""
    return _post(run.namespace, f"{_run(run)}/end", {}, functools.partial(bodies.run_info, namespace=run.namespace))


def delete_run(run: Run) -> Request[bool]:
    """Remove a run."""
    return Request(namespace=run.namespace, path=_run(run), read=bodies.deleted, method="DELETE", writes=True)


def _post(namespace: str, path: str, asked: Mapping[str, object], read: Callable[[bytes], T]) -> Request[T]:
    body = _json({name: value for name, value in asked.items() if value is not None})
    return Request(namespace=namespace, path=path, read=read, method="POST", body=body, writes=True)


def _run(run: Run) -> str:
    bounds.check_run(run)
    return f"/workflows/{_segment(run.workflow_id)}/runs/{_segment(run.run_id)}"


def _stream(stream: StreamRef) -> str:
    return f"{_run(stream.run)}/streams/{_segment(bounds.check_name(stream.name))}"


def _segment(text: str) -> str:
    return quote(text, safe="")


def _item(index: int, item: NewItem) -> bytes:
    head = {
        "idempotency_key": item.idempotency_key or None,
        "origin": item.origin,
        "origin_reference": item.origin_reference,
        "item_type": item.item_type,
        "content_type": item.content_type,
        "payload_reference": item.payload_reference,
        "payload_codec": item.payload_codec,
    }
    known = _json({name: value for name, value in head.items() if value is not None})
    return known[:-1] + b',"payload":' + checked_json(item.payload, f"items.{index}.payload") + b"}"


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
