"""The connection that there is, or the next one; and questions to JetStream. Lives on the loop's thread."""

import asyncio
import json
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from nats.aio.msg import Msg

from tailrace.backends.nats.errors import NO_JETSTREAM, ApiError, LinkLost, NoResponder, explain_connecting
from tailrace.backends.nats.link import Link
from tailrace.backends.nats.location import Location
from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError

T = TypeVar("T")

API = "$JS.API."

PATIENCE = 2.0
"""Seconds that an answer is waited for before the question is asked again."""

PAUSE = 0.05
"""Seconds between two tries of what nobody answers, at first."""

LONGEST_PAUSE = 0.5


DIAL_SECONDS = 2.0
"""Seconds that connecting to one server may take."""


class Session:
    """For one thread.

    Attributes:
        name: Of the servers, for messages.
        era: How many connections there have been: what is remembered of an earlier one may be no longer so.
        ahead: Seconds by which the server's clock is ahead of this machine's.
    """

    def __init__(self, location: Location) -> None:
        self.name = location.name
        self.era = 0
        self.ahead = 0.0
        self._location = location
        self._link: Link | None = None
        self._dialing: asyncio.Lock | None = None
        self._more: set[str] = set()
        self._recalled: tuple[tuple[int, int, int], int] = (0, 0, 0), 2**20

    @property
    def now(self) -> int:
        """The server's clock, in microseconds since the epoch."""
        return int((time.time() + self.ahead) * 1e6)

    @property
    def version(self) -> tuple[int, int, int]:
        """The release of the server that was connected last; zeros if there was none."""
        return self._recalled[0] if self._link is None else self._link.version

    @property
    def max_payload(self) -> int:
        """Bytes in one message, at most."""
        return self._recalled[1] if self._link is None else self._link.client.max_payload

    def recall(self, version: tuple[int, int, int], max_payload: int) -> None:
        """Take these for true until there is a connection."""
        self._recalled = version, max_payload

    async def link(self) -> Link:
        """Return an open connection.

        Raises:
            StoreUnusableError: The server does not want us.
            DurableStreamUnavailableError: No server can be reached; nothing was sent.
        """
        link = self._link
        if link is not None and link.lost is None and not link.client.is_closed:
            return link
        if self._dialing is None:
            self._dialing = asyncio.Lock()
        async with self._dialing:
            link = self._link
            if link is None or link.lost is not None or link.client.is_closed:
                if link is not None:
                    await link.close()
                link = self._link = await self._dial()
                self.era += 1
            return link

    async def close(self) -> None:
        """Close the connection. Raises nothing."""
        link = self._link
        if link is not None:
            await link.close()

    async def ask(self, subject: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Ask the JetStream API once, and return its answer.

        Raises:
            ApiError: The answer is an error.
            NoResponder: Nobody is there to answer.
            LinkLost, Denied: As ``Link.ask`` says.
        """
        link = await self.link()
        return answer_of(await link.ask(API + subject, encoded(body), None, PATIENCE))

    async def insist(self, subject: str, body: Mapping[str, Any] | None, deadline: float) -> dict[str, Any]:
        """Ask what may be asked twice, until there is an answer or the time is over. Raises as ``ask``."""
        return await self.persist(lambda: self.ask(subject, body), deadline)

    async def persist(self, asked: Callable[[], Awaitable[T]], deadline: float) -> T:
        """Do again what failed because nobody answered, until a deadline of ``time.monotonic``.

        A server that can not be reached is not tried again: whoever rides out an outage does so above.
        """
        pause = PAUSE
        while True:
            try:
                async with asyncio.timeout(max(0.01, min(PATIENCE, deadline - time.monotonic()))):
                    return await asked()
            except (NoResponder, LinkLost, TimeoutError) as exc:
                if isinstance(exc, NoResponder) and self._link is not None and not self._link.jetstream:
                    raise ApiError(NO_JETSTREAM, "no responders") from exc
                if time.monotonic() + pause >= deadline:
                    raise
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(LONGEST_PAUSE, pause * 2)

    async def _dial(self) -> Link:
        servers = list({*self._location.servers, *self._more})
        random.shuffle(servers)
        error: DurableStreamUnavailableError | None = None
        for server in servers:
            link = Link(self.name)
            try:
                await link.connect(self._location, server, DIAL_SECONDS)
            except Exception as exc:  # noqa: BLE001 - the driver raises whatever it met
                failed = explain_connecting(exc, f"NATS at {server.partition('://')[2]}")
                # One that can not be used says more than one that is away.
                if error is None or isinstance(failed, StoreUnusableError):
                    error = failed
                    error.__cause__ = exc
                continue
            self._learn(link)
            return link
        assert error is not None
        raise error

    def _learn(self, link: Link) -> None:
        # Other servers of the cluster, as this one knows them: the one of the URL may be the next to go.
        scheme = self._location.servers[0].partition("://")[0]
        self._more = {f"{scheme}://{server.netloc.rpartition('@')[2]}" for server in link.client.discovered_servers}


def encoded(body: Mapping[str, Any] | None) -> bytes:
    """Return the bytes of a question's body."""
    return b"" if body is None else json.dumps(body, separators=(",", ":")).encode()


def answer_of(msg: Msg) -> dict[str, Any]:
    """Return what JetStream answered.

    Raises:
        ApiError: It is an error.
    """
    answer: dict[str, Any] = json.loads(msg.data)
    error = answer.get("error")
    if error is not None:
        raise ApiError(int(error.get("err_code", error.get("code", 0))), str(error.get("description", "")))
    return answer
