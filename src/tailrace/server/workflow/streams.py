"""What is done to streams: list, describe, append, close or error, and a sign of life of the producer."""

from collections.abc import Mapping
from functools import partial
from typing import Any, cast

from tailrace.server.response import Response
from tailrace.server.workflow import answers
from tailrace.server.workflow.batches import batch_of
from tailrace.server.workflow.call import Call


async def list_streams(call: Call) -> Response:
    """Answer with all streams of a run, by name."""
    run = call.run
    return answers.listed(run, await call.shared.run(partial(call.shared.service.list_streams, run)))


async def describe(call: Call) -> Response:
    """Answer with what a stream looks like."""
    stream = call.stream
    return answers.described(stream.run, await call.shared.run(partial(call.shared.service.describe, stream)))


async def append(call: Call) -> Response:
    """Append items, all or none."""
    stream = call.stream
    batch = batch_of(await call.body() or b"{}")
    done = await call.shared.run(
        partial(
            call.shared.service.append,
            stream,
            batch.items,
            max_pending_items=batch.max_pending_items,
            lease_seconds=batch.lease_seconds,
        )
    )
    return answers.appended(stream.run, done)


async def close(call: Call) -> Response:
    """Close a stream; or end it as errored, if there is a reason."""
    stream = call.stream
    fields = _untyped(await call.fields())
    work = partial(
        call.shared.service.end,
        stream,
        error_reason=fields.get("error_reason"),
        retention_seconds=fields.get("retention_seconds"),
    )
    return answers.described(stream.run, await call.shared.run(work))


async def renew(call: Call) -> Response:
    """Note that the producer is alive, for ``lease_seconds`` more."""
    stream = call.stream
    fields = _untyped(await call.fields())
    lease_seconds: Any = fields.get("lease_seconds")
    work = partial(call.shared.service.renew, stream, lease_seconds)
    return answers.described(stream.run, await call.shared.run(work))


def _untyped(fields: Mapping[str, object]) -> Mapping[str, Any]:
    # Of whatever types they are: the service is what checks them, for every ingress.
    return cast("Mapping[str, Any]", fields)
