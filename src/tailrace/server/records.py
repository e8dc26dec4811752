"""Records of a topic: append one or a batch, and read a page, waiting for it if asked to."""

import asyncio
import json

from tailrace import aio, limits
from tailrace.errors import DurableStreamError, PayloadTooLargeError
from tailrace.records import CLOSED, Closed, DurableStreamRecord, StreamEnd
from tailrace.server.call import Call
from tailrace.server.encodings import DECODERS, ENCODERS
from tailrace.server.problems import Problem, problem_of
from tailrace.server.request import DisconnectedError
from tailrace.server.response import Response
from tailrace.sse import Stop

NDJSON = b"application/x-ndjson"


async def append(call: Call) -> Response:
    """Append the body as one record; or its lines, if it is newline-delimited."""
    kind = (call.request.header(b"content-type") or "").partition(";")[0].strip().lower()
    if kind == NDJSON.decode():
        return await _append_lines(call)
    call.request.only()
    await call.topic.append(await call.body())
    return Response(204)


async def _append_lines(call: Call) -> Response:
    """Append lines in one commit, and answer with one outcome a line, in order.

    A line that can not be stored is refused by itself; the others go on. With encoding=base64 each is decoded.
    """
    call.request.only("encoding")
    decode = DECODERS[call.request.choice("encoding", "text", *DECODERS)]
    body = await call.body()
    # Counted before they are cut: a body of empty lines would become a hundred times as much.
    if body.count(b"\n") + (not body.endswith(b"\n")) > limits.MAX_APPEND_MANY:
        raise Problem("too-large", f"a batch may have {limits.MAX_APPEND_MANY} lines; nothing was stored")
    lines = body.split(b"\n")
    if not lines[-1]:
        lines.pop()
    most = call.service.max_payload
    outcomes: list[dict[str, object]] = []
    payloads: list[bytes] = []
    for line in lines:
        try:
            payload = decode(line)
            if len(payload) > most:
                raise PayloadTooLargeError(len(payload), most, named="the server's")
        except ValueError as error:
            is_large = isinstance(error, PayloadTooLargeError)
            outcomes.append(_refused(Problem("too-large" if is_large else "bad-request", str(error))))
        else:
            payloads.append(payload)
            outcomes.append({"status": 201})
    try:
        await call.topic.append_many(payloads)
    except DurableStreamError as error:
        failed = _refused(problem_of(error, in_confidence=call.principal.trusted))
        outcomes = [failed if outcome["status"] == 201 else outcome for outcome in outcomes]
    status = 200 if all(outcome["status"] == 201 for outcome in outcomes) else 207
    return Response(status, b"".join(json.dumps(outcome).encode() + b"\n" for outcome in outcomes), NDJSON)


async def read(call: Call) -> Response:
    """Answer with a page of records; if there are none, wait for the first for ``wait`` seconds."""
    query = call.request.only("start", "cursor", "limit", "wait", "payloads")
    limit = call.request.count("limit", 512, at_most=limits.MAX_APPEND_MANY)
    wait = call.request.seconds("wait", 0.0, at_most=call.service.settings.max_wait)
    encode = ENCODERS[call.request.choice("payloads", "text", *ENCODERS)]
    token = query.get("cursor")
    opened = None if token is None else call.opened(token)
    page: list[DurableStreamRecord] = []
    size, caught_up = 0, False
    async with await call.subscribe(query.get("start"), opened) as subscription:
        got = await _first(call, subscription, wait)
        while isinstance(got, DurableStreamRecord):
            page.append(got)
            size += len(got.payload)
            if len(page) == limit or size >= PAGE_BYTES:
                break
            got = await subscription.receive(0)
        else:
            caught_up = True
        end = subscription.end if got is CLOSED else None
        after = subscription.cursor
    rest = json.dumps({"next": call.token(after), "caught_up": caught_up, "end": _told(end)})
    records = ", ".join(_listed(call.token(record.cursor), *encode(record.payload)) for record in page)
    return Response(200, f'{{"records": [{records}], {rest[1:]}'.encode())


def _listed(token: str, data: str, encoding: str) -> str:
    return f'{{"token": "{token}", "data": {data}, "encoding": "{encoding}"}}'


async def _first(call: Call, subscription: aio.Subscription, wait: float) -> DurableStreamRecord | Closed | None:
    if not wait:
        return await subscription.receive(0)
    live, principal = call.service.live, call.principal
    if not live.admits(principal.name):
        raise Problem("overloaded", "there are as many streams and waiting reads as this server holds")
    waiting = _Waiting(subscription)
    # Counted and ended like a stream, which it would be if its client could: a server that ends must not wait for it.
    with live.entered(waiting, principal.name, expires_at=principal.expires_at):
        watching = asyncio.ensure_future(call.request.disconnected())
        watching.add_done_callback(lambda _: waiting.stop(Stop.GONE))
        try:
            got = await subscription.receive(wait)
        finally:
            watching.cancel()
    if waiting.why is Stop.GONE:
        raise DisconnectedError
    return got


class _Waiting:
    """A read that waits, as something that can be ended."""

    def __init__(self, subscription: aio.Subscription) -> None:
        self._subscription = subscription
        self.why: Stop | None = None

    def stop(self, why: Stop) -> None:
        """Let it return at once; the first reason stands."""
        if self.why is None:
            self.why = why
            self._subscription.close()


PAGE_BYTES = 4 * 2**20
"""Payload bytes after which a page ends: it is held whole, a few times over while it is encoded."""


def _told(end: StreamEnd | None) -> dict[str, object] | None:
    if end is None:
        return None
    if end.kind == "closed":
        # The server is going down, not the topic.
        raise Problem("unavailable", "the server is closing")
    return {"kind": end.kind, "error": end.error}


def _refused(problem: Problem) -> dict[str, object]:
    return problem.content
