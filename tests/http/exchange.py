"""One request to an application without a server: its messages as they were sent, and a client that can stall or go."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from tests.http.parser import Parser

from tailrace.asgi import Message, Receive, Scope, Send

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
    """

    def __init__(
        self,
        application: ASGI,
        path: str,
        last_id: str | None = None,
        *,
        stall: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._application, self._stall = application, stall
        self._scope = scope_of(path, headers=None if last_id is None else {"Last-Event-ID": last_id})
        self._gone = asyncio.Event()
        self._asked = False
        self._sent = asyncio.Condition()
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
        async with asyncio.timeout(timeout), self._sent:
            await self._sent.wait_for(lambda: condition(self))

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
            await self._stall()
        if self._gone.is_set():
            return
        self.bodies.append(message.get("body", b""))
        self.times.append(asyncio.get_running_loop().time())
        self.took(self.bodies[-1])
        async with self._sent:
            self._sent.notify_all()
