"""``GET events``: a stream as Server-Sent Events, for as long as the client stays. An addition to the contract."""

from functools import partial

from tailrace.errors import DurableStreamUnavailableError
from tailrace.server.workflow.call import Call
from tailrace.server.workflow.integers import integer_in
from tailrace.sse import View, postpone, serve
from tailrace.tokens import Opened, TokenKind
from tailrace.workflow.awaited_topics import DocumentTopic
from tailrace.workflow.bounds import check_page
from tailrace.workflow.model import StreamRef


async def events(call: Call) -> None:
    """Stream items from an offset, or after the id that the client saw last."""
    stream, query = call.stream, call.request.query
    from_offset = integer_in(query, "from", 0)
    check_page(from_offset, 1)
    topic = call.shared.service.document_topic(stream)
    tokens = call.shared.core.tokens(call.principal.tenant)
    # What the client saw last is newer than the address that it was given once.
    token = call.request.header(b"last-event-id") or query.get("cursor")
    opened = None if token is None else tokens.open(topic.name, token)
    view = partial(View, topic, tokens, text=True, whose=call.principal.name, expires_at=call.principal.expires_at)
    try:
        start = await (_start(call, stream, topic, from_offset) if opened is None else _again(call, stream, opened))
    except DurableStreamUnavailableError:
        # Told with 200: at any other status a browser never comes back.
        await postpone(view(opened or "beginning"), call.send)
        return
    await serve(call.shared.core.live, view(start), call.send, call.request.disconnected(), call.request.offer)


async def _start(call: Call, stream: StreamRef, topic: DocumentTopic, from_offset: int) -> Opened:
    place = partial(call.shared.service.place_before, stream, from_offset)
    return Opened(await topic.cursor_before(place), TokenKind.RESUME, None)


async def _again(call: Call, stream: StreamRef, opened: Opened) -> Opened:
    if not opened.terminal:
        # Nobody is to wait on a stream that has expired meanwhile.
        await call.shared.run(partial(call.shared.service.describe, stream))
    return opened
