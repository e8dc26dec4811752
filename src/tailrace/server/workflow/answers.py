"""What operations came to, as it stands on the wire. Pure."""

import json
from collections.abc import Mapping, Sequence

from tailrace.server.response import Response
from tailrace.server.workflow.refusals import json_answer, raw_answer
from tailrace.workflow.documents import instant, stream_document
from tailrace.workflow.model import Appended, ItemPage, Run, RunInfo, Stream


def listed(run: Run, streams: Sequence[Stream]) -> Response:
    """Return the answer of a list."""
    rows = [stream_document(stream) for stream in streams]
    return json_answer({**_ids(run), "count": len(rows), "streams": rows})


def described(run: Run, stream: Stream) -> Response:
    """Return the answer about one stream."""
    return json_answer({**_ids(run), "stream": stream_document(stream)})


def appended(run: Run, done: Appended) -> Response:
    """Return the answer of an append."""
    return json_answer(
        {
            **_ids(run),
            "stream": stream_document(done.stream),
            "accepted_offsets": list(done.offsets),
            "accepted": done.accepted,
            "deduped": done.deduped,
        }
    )


def paged(run: Run, page: ItemPage) -> Response:
    """Return the answer with items, whose documents go out as they were stored."""
    head = _text({**_ids(run), "stream": stream_document(page.stream)})
    tail = _text({"next_offset": page.next_offset, "terminal": page.terminal})
    return raw_answer(b'%b,"items":[%b],%b' % (head[:-1], b",".join(page.documents), tail[1:]))


def run_told(info: RunInfo, *, outcome: str | None = None) -> Mapping[str, object]:
    """Return a run."""
    told: dict[str, object] = {
        "workflow_id": info.run.workflow_id,
        "run_id": info.run.run_id,
        "namespace": info.run.namespace,
        "workflow_type": info.workflow_type,
        "task_queue": info.task_queue,
        # How it has ended is not known here: nobody runs it.
        "status": "running" if info.ended_at is None else "completed",
        "registered": info.registered,
        "started_at": instant(info.started_at),
        "closed_at": None if info.ended_at is None else instant(info.ended_at),
    }
    return told if outcome is None else {**told, "outcome": outcome}


def _ids(run: Run) -> dict[str, object]:
    return {"workflow_id": run.workflow_id, "workflow_run_id": run.run_id}


def _text(content: Mapping[str, object]) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode()
