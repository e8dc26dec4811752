"""What is done to a topic as a whole: describe, checkpoint, seal, delete."""

from functools import partial

from tailrace import arguments, spi
from tailrace.records import TopicCursor
from tailrace.server.call import Call
from tailrace.server.problems import Problem
from tailrace.server.response import Response, json_response


async def describe(call: Call) -> Response:
    """Answer where a topic stands: its ends as tokens, its seal, and what it holds where the store counts that."""
    call.request.only()
    bounds = await call.service.run(partial(call.service.backend.bounds, call.name))
    if isinstance(bounds, spi.Unborn):
        raise Problem("no-topic", "no such topic exists yet")
    codec = call.service.codec(call.name)
    content: dict[str, object] = {
        "topic": call.name,
        "beginning": call.token(codec.encode(bounds.beginning)),
        "tail": call.token(codec.encode(bounds.tail)),
        "seal": None if bounds.seal is None else {"error": bounds.seal.error},
    }
    if isinstance(call.service.backend, spi.Maintenance):
        for info in await call.service.run(partial(call.service.operations.topics, call.name, limit=1)):
            if info.name == call.name:
                content |= {"records": info.records, "bytes": info.bytes, "last_append_at": info.last_append_at}
    return json_response(content)


async def checkpoint(call: Call) -> Response:
    """Answer with a token for the tail: fix the start now, dispatch the work, stream later.

    With ``{"cursor": ...}`` in the body, a token for that cursor: for services that hold cursors of the library.
    """
    call.request.only()
    match await call.json():
        case {**nothing} if not nothing:
            return json_response({"token": call.token(await call.topic.checkpoint())})
        case {"cursor": str(cursor), **others} if not others:
            if not call.principal.trusted:
                raise Problem("forbidden", "this credential does not exchange cursors, only tokens")
            return json_response({"token": call.token(TopicCursor(cursor))})
        case _:
            raise Problem("bad-request", 'the body must be empty or {"cursor": "..."}')


async def seal(call: Call) -> Response:
    """End the topic for good: with ``{"error": "..."}`` in the body as failed, with none as finished."""
    call.request.only()
    match await call.json():
        case {"error": (str() | None) as error, **others} if not others:
            await call.topic.seal(error=arguments.seal_error(error))
        case {**others} if not others:
            await call.topic.seal()
        case _:
            raise Problem("bad-request", 'the body must be empty or {"error": "..."}')
    return Response(204)


async def delete(call: Call) -> Response:
    """Remove a topic with everything in it."""
    call.request.only()
    if not await call.service.run(partial(call.service.operations.delete, call.name)):
        raise Problem("no-topic", "no such topic exists")
    return Response(204)
