"""One connection of an event loop: a request goes out and its answer comes in. The protocol is h11's.

Used by one task at a time. Whatever ends a request early, a cancellation too, ends the connection with it: nobody
reads an answer that was meant for somebody else.
"""

import asyncio
import ssl
import time
from typing import Any

import h11

from tailrace.backends.http.dialing import common_headers
from tailrace.backends.http.line import IDLE_SECONDS, framed
from tailrace.backends.http.location import Location
from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError
from tailrace.workflow.remote.failures import Failed
from tailrace.workflow.remote.reading import MOST_BYTES, too_long
from tailrace.workflow.remote.requests import Request

_HEADERS = 64 * 1024
_CHUNK = 256 * 1024


class BrokenConversationError(Exception):
    """It ended before the answer did."""


class Conversation:
    """An open connection.

    Args:
        headers: Of every request.
    """

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, headers: list[tuple[bytes, bytes]]
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._headers = headers
        self._h11 = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEADERS)
        self._idle_since = time.monotonic()

    @property
    def usable(self) -> bool:
        """Whether another request may follow on it."""
        fresh = time.monotonic() - self._idle_since <= IDLE_SECONDS
        # What nobody has asked for would be taken for the next answer.
        quiet = not self._reader.at_eof() and self._h11.trailing_data == (b"", False)
        return self._h11.our_state is h11.IDLE and fresh and quiet

    async def ask(self, request: Request[Any], target: str, name: str) -> tuple[int, bytes]:
        """Send a request; return the status and the body of its answer.

        Raises:
            BrokenConversationError: There was none.
            Failed: It never ends.
        """
        body = request.body
        headers = [*self._headers, *framed(body, request.headers)]
        try:
            out = self._h11.send(h11.Request(method=request.method, target=target, headers=headers)) or b""
            out += (self._h11.send(h11.Data(data=body)) or b"") if body else b""
            self._h11.send(h11.EndOfMessage())
            self._writer.write(out)
            await self._writer.drain()
            return await self._answer(name)
        except (OSError, h11.ProtocolError) as exc:
            raise BrokenConversationError(" ".join(str(exc).split())) from exc

    def close(self) -> None:
        """Close it. In its loop; idempotent, never raises."""
        self._writer.transport.abort()

    async def _answer(self, name: str) -> tuple[int, bytes]:
        status = 0
        found = bytearray()
        while True:
            event = self._h11.next_event()
            if event is h11.NEED_DATA:
                self._h11.receive_data(await self._reader.read(_CHUNK))
            elif isinstance(event, h11.Response):
                status = event.status_code
            elif isinstance(event, h11.Data):
                found += event.data
                if len(found) > MOST_BYTES:
                    raise too_long(name)
            elif isinstance(event, h11.EndOfMessage):
                if self._h11.our_state is h11.DONE and self._h11.their_state is h11.DONE:
                    self._h11.start_next_cycle()
                    self._idle_since = time.monotonic()
                return status, bytes(found)
            elif isinstance(event, h11.ConnectionClosed):
                raise BrokenConversationError("the server hung up")


class Dial:
    """Opens connections to a server.

    Raises:
        StoreUnusableError: The file of certificates can not be used.
    """

    def __init__(self, location: Location) -> None:
        self._location = location
        # Once: to read the system's certificates takes longer than to connect.
        self._context = location.context()
        self._headers = common_headers(location)

    async def __call__(self) -> Conversation:
        """Open one.

        Raises:
            Failed: It can not be had; nothing was sent.
        """
        where, name = self._location, self._location.name
        try:
            reader, writer = await asyncio.open_connection(where.host, where.port, ssl=self._context)
        except ssl.SSLCertVerificationError as exc:
            said = f"the certificate of {name} is not trusted [{exc.verify_message}]"
            raise _unusable(f"{said}: name its authority with ?ca=FILE") from exc
        except ssl.SSLError as exc:
            raise _unusable(f"{name} does not speak TLS as it should [{exc.reason}]") from exc
        except (OSError, UnicodeError) as exc:
            error = DurableStreamUnavailableError(f"{name} can not be reached [{exc}]")
            raise Failed(error, sent=False, again=True) from exc
        return Conversation(reader, writer, self._headers)


def _unusable(said: str) -> Failed:
    return Failed(StoreUnusableError(said), sent=False, again=False)
