"""Reads of other processes: many requests in one, answered piece by piece, so that a piece is all that is held."""

from collections.abc import Iterator, Sequence
from functools import partial

from tailrace import spi, wire
from tailrace.engine import read_all
from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError
from tailrace.server.call import Call
from tailrace.server.desk import MOST_TOPICS
from tailrace.server.principals import Action
from tailrace.server.problems import Problem
from tailrace.server.response import Response
from tailrace.server.store.bodies import answer, asked

PIECE_BYTES = 8 * 2**20
"""Payload bytes that are read and sent at once, at most; a record that is larger comes alone."""

PIECE_RECORDS = 20_000
"""Records that are, likewise."""


async def read(call: Call) -> Response | None:
    """Answer each request with its page, its loss or its failure."""
    requests = await asked(call, wire.requests_from)
    if len(requests) > MOST_TOPICS:
        raise Problem("too-large", f"a request may ask for {MOST_TOPICS} topics")
    pieces = list(_pieces(requests))
    first = wire.pack_pages(await _outcomes(call, pieces[0]))
    if len(pieces) == 1:
        return answer(first)
    headers = [(b"content-type", wire.ACCEPTED), (b"cache-control", b"no-store")]
    await call.send({"type": "http.response.start", "status": 200, "headers": headers})
    await call.send({"type": "http.response.body", "body": first, "more_body": True})
    for piece in pieces[1:]:
        frame = wire.pack_pages(await _outcomes(call, piece))
        await call.send({"type": "http.response.body", "body": frame, "more_body": True})
    await call.send({"type": "http.response.body", "body": b""})
    return None


def _pieces(requests: Sequence[spi.ReadRequest]) -> Iterator[list[spi.ReadRequest]]:
    piece: list[spi.ReadRequest] = []
    size = records = 0
    for request in requests:
        # What is left out of a page is told by it, and asked for again.
        cut = request._replace(
            max_records=min(request.max_records, PIECE_RECORDS), max_bytes=min(request.max_bytes, PIECE_BYTES)
        )
        if piece and (size + cut.max_bytes > PIECE_BYTES or records + cut.max_records > PIECE_RECORDS):
            yield piece
            piece, size, records = [], 0, 0
        piece.append(cut)
        # A place that is only checked brings nothing.
        size += cut.max_bytes if cut.max_records else 0
        records += cut.max_records
    yield piece


async def _outcomes(call: Call, piece: Sequence[spi.ReadRequest]) -> Sequence[spi.ReadOutcome]:
    allowed = [request for request in piece if call.principal.may(Action.READ, request.topic)]
    found: Iterator[spi.ReadOutcome] = iter(await _read(call, allowed) if allowed else ())
    forbidden = spi.ReadFailed(StoreUnusableError("this credential does not allow read on that topic"))
    return [next(found) if call.principal.may(Action.READ, each.topic) else forbidden for each in piece]


async def _read(call: Call, requests: Sequence[spi.ReadRequest]) -> Sequence[spi.ReadOutcome]:
    try:
        return await call.service.desk.run(partial(read_all, call.service.backend, requests))
    except Problem as problem:
        # An answer may have begun: it is told to each of them.
        return [spi.ReadFailed(DurableStreamUnavailableError(problem.detail))] * len(requests)
