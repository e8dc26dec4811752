"""One request to an application without a server: its messages as they were sent, and a client that can stall or go."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from tests.http.parser import Parser

from tailrace.asgi import OFFER, Message, Receive, Scope, Send
from tailrace.server import Application

ASGI = Callable[[Scope, Receive, Send], Awaitable[None]]


def scope_of(path: str, *, method: str = "GET", headers: Mapping[str, str] | None = None) -> Scope:
    """Return what a server hands on."""
    raw, _, query = path.partition("?")
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "path": raw,
        "raw_path": raw.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }


class Exchange:
    """A request, and what is answered.

    Args:
        stall: Awaited before each part of the body is taken.
        takes: Asked whether a part is taken there and then, as our own server may; other servers have no way to.
    """

    def __init__(
        self,
        application: ASGI,
        path: str,
        last_id: str | None = None,
        *,
        stall: Callable[[], Awaitable[None]] | None = None,
        takes: Callable[[], bool] | None = None,
    ) -> None:
        self._application, self._stall, self._takes = application, stall, takes
        self._scope = scope_of(path, headers=None if last_id is None else {"Last-Event-ID": last_id})
        if takes is not None:
            self._scope["extensions"] = {OFFER: self._offer}
        self._gone = asyncio.Event()
        self._asked = False
        self._sending = False
        self._sent = asyncio.Event()
        self.offered = 0
        self.status: int | None = None
        self.bodies: list[bytes] = []
        self.times: list[float] = []
        self.parser = Parser()
        self.took: Callable[[bytes], None] = self.parser.feed

    async def run(self) -> None:
        """Return once the application has."""
        await self._application(self._scope, self._receive, self._send)

    def vanish(self) -> None:
        """Be gone."""
        self._gone.set()

    async def until(self, condition: Callable[["Exchange"], bool], timeout: float = 20) -> None:
        """Wait until something was sent that makes it so."""
        async with asyncio.timeout(timeout):
            while not condition(self):
                self._sent.clear()
                await self._sent.wait()

    async def _receive(self) -> Message:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            return
        if self._stall is not None:
            self._sending = True
            try:
                await self._stall()
            finally:
                self._sending = False
        if self._gone.is_set():
            return
        self._take(message.get("body", b""))

    def _offer(self, body: bytes) -> bool:
        assert not self._sending, "a part is offered while another one is being sent"
        assert self._takes is not None
        if self._gone.is_set() or not self._takes():
            return False
        self.offered += 1
        self._take(body)
        return True

    def _take(self, body: bytes) -> None:
        self.bodies.append(body)
        self.times.append(asyncio.get_running_loop().time())
        self.took(body)
        self._sent.set()


async def resting(
    application: Application, path: str, takes: Callable[[], bool]
) -> tuple[Exchange, asyncio.Task[None]]:
    """Return a reader of events that rests: whatever comes now is offered to it."""
    exchange = Exchange(application, path, takes=takes)
    running = asyncio.ensure_future(exchange.run())
    await exchange.until(lambda seen: bool(seen.parser.last_id))
    shared = next(iter(application.service.live.trunks._shared.values()))
    async with asyncio.timeout(20):
        while shared.trunk is None or len(shared.trunk._line._resting) < shared.readers:
            await asyncio.sleep(0.001)
    return exchange, running
