"""Parts of a response that are written there and then, whoever calls: for thousands of readers no task is woken."""

import functools

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle


class Offering:
    """An ``Offer``: does what uvicorn's ``send`` does with a part, where that would not wait. In the loop's thread."""

    __slots__ = ("_cycle",)

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle = cycle

    def __call__(self, body: bytes) -> bool:
        cycle = self._cycle
        if cycle.flow.write_paused or cycle.disconnected or cycle.response_complete or not cycle.chunked_encoding:
            return False
        transport = cycle.transport
        if transport.is_closing():
            return False
        transport.write(_chunk(body))
        return True


@functools.lru_cache(maxsize=1)
def _chunk(body: bytes) -> bytes:
    """Return a chunk. The last one is kept: readers of one topic are written the same bytes, one after another."""
    return b"%x\r\n%b\r\n" % (len(body), body)
