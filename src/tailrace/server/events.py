"""``GET events``: a topic as Server-Sent Events, for as long as the client stays."""

from tailrace.server.call import Call
from tailrace.sse import Start, View, serve


async def events(call: Call) -> None:
    """Stream a topic's records from a start, or after the id that the client saw last."""
    query = call.request.only("start", "cursor", "encoding")
    text = call.request.choice("encoding", "text", "base64") == "text"
    # What the client saw last is newer than the address that it was given once.
    token = call.request.header(b"last-event-id") or query.get("cursor")
    start: Start = call.start(query.get("start")) if token is None else call.opened(token)
    view = View(call.topic, call.tokens, start, text, call.principal.name, call.principal.expires_at)
    await serve(call.service.live, view, call.send, call.request.disconnected(), call.request.offer)
