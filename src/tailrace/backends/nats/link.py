"""One connection to one server: questions with one answer or several, and hints. Lives on the loop's thread.

The driver's own ways to wait for an answer cost a task and a queue for each subscription, and its own reconnecting
sends again what was buffered. So it is used for what it does best: to connect, to speak the protocol, and to notice the
end. A connection that has ended is never used again.
"""

import asyncio
import functools
import logging
import re
import ssl
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, cast

import nats.errors
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from tailrace.backends.nats.errors import Denied, LinkLost, NoResponder
from tailrace.backends.nats.headers import QuickClient
from tailrace.backends.nats.location import Location

PULSE = 5
"""Seconds between two questions to a server whether it is there."""

MISSED = 2
"""So many without an answer end the connection."""

CLOSING = 0.5
"""Seconds that are waited for the end of a connection that is closed."""

_log = logging.getLogger("tailrace.store")
_SECRETS = ("user", "password", "token")
_DENIED = re.compile(r'permissions violation for (publish|subscription) to "([^"]*)"', re.IGNORECASE)


class Link:
    """Made by ``open``; for one thread.

    Attributes:
        lost: Why it ended; ``None`` while it is open.
    """

    def __init__(self, what: str) -> None:
        self.lost: BaseException | None = None
        self.client = QuickClient()
        self._loop = asyncio.get_running_loop()
        self._what = what
        self._inbox = ""
        self._next = 0
        self._asked: dict[str, _Question] = {}
        self._listeners: list[Callable[[BaseException], None]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._trouble: BaseException | None = None

    async def connect(self, location: Location, server: str, timeout: float) -> None:
        """Connect. Raises what the driver or the operating system does."""
        try:
            await self._connect(location, server, timeout)
        except BaseException:
            await self.close()
            raise

    async def _connect(self, location: Location, server: str, timeout: float) -> None:
        async def troubled(exc: Exception) -> None:
            self._complain(exc)

        def ending() -> None:
            self._end(self._trouble or LinkLost(f"{self._what} closed the connection"))

        async def ended() -> None:
            ending()

        tls = {} if location.tls is None else location.tls.settings()
        login: dict[str, Any] = dict(location.login)
        if location.tls is not None:
            # Asked for when the connection is encrypted, or is not going to be: then they must not be sent.
            login |= {name: functools.partial(self._secret, login[name]) for name in _SECRETS if name in login}
        try:
            async with asyncio.timeout(timeout):
                await self.client.connect(
                    [server],
                    error_cb=troubled,
                    disconnected_cb=ended,
                    closed_cb=ended,
                    name="tailrace",
                    inbox_prefix=location.inbox_prefix,
                    allow_reconnect=False,
                    # Without reconnecting, how often the driver tries by itself: at least once more, and at once.
                    max_reconnect_attempts=1,
                    reconnect_time_wait=0,
                    connect_timeout=max(1, int(timeout)),
                    ping_interval=PULSE,
                    max_outstanding_pings=MISSED,
                    **login,
                    **tls,
                )
        except Exception as exc:
            # The driver says that it has no servers left; what was wrong with them, it told before.
            if self._greeting.get("tls_verify") and (location.tls is None or location.tls.cert is None):
                raise ssl.SSLError("the server wants a certificate of the client: name tls_cert= and tls_key=") from exc
            raise self._trouble or exc from exc
        self._trouble = None
        if location.tls is not None:
            self._secret("")
        self.client.closing = ending
        self._inbox = self.client.new_inbox() + "."
        await self.listen(self._inbox + "*", self._heard)

    @property
    def version(self) -> tuple[int, int, int]:
        """The server's release."""
        told = self.client.connected_server_version
        return told.major, told.minor, told.patch

    @property
    def jetstream(self) -> bool:
        """Whether the server says that it has JetStream."""
        return bool(self._greeting.get("jetstream"))

    @property
    def _greeting(self) -> Mapping[str, Any]:
        # The driver keeps it, and shows only parts of it.
        greeting: Mapping[str, Any] = getattr(self.client, "_server_info", {})
        return greeting

    def _secret(self, secret: str) -> str:
        if not (self._greeting.get("tls_required") or self.client.options.get("tls_handshake_first")):
            raise ssl.SSLError("the server does not speak TLS")
        return secret

    async def ask(self, subject: str, payload: bytes, headers: Mapping[str, str] | None, timeout: float) -> Msg:
        """Send a question and wait for its answer.

        Raises:
            TimeoutError: None came in time; what was sent may have arrived.
            LinkLost: The connection ended; what was sent may have arrived.
            NoResponder: Nobody heard it.
            Denied: This user may not ask.
        """
        return (await self._wait_for(_Question(subject, None), payload, headers, timeout))[0]

    async def fetch(self, subject: str, payload: bytes, complete: Callable[[Msg], bool], timeout: float) -> list[Msg]:
        """Send a question, and wait for answers until ``complete`` says that one is the last. Raises as ``ask``."""
        return await self._wait_for(_Question(subject, complete), payload, None, timeout)

    async def stream(self, subject: str, payload: bytes, complete: Callable[[Msg], bool], timeout: float) -> list[Msg]:
        """As ``fetch``, for answers that come under other subjects than the one they are sent to."""
        question = _Question(subject, complete)
        inbox = self.client.new_inbox()
        subscription = await self.listen(inbox, question.take)
        try:
            return await self._wait_for(question, payload, None, timeout, inbox)
        finally:
            if self.lost is None:
                await subscription.unsubscribe()

    async def listen(self, subject: str, told: Callable[[Msg], None]) -> Subscription:
        """Have ``told`` called, in this thread, with each message on a subject; returns before the server knows."""
        # With a future in which it puts its one answer, the driver keeps neither a task nor a queue for a subscription:
        # it calls this.
        return await self.client.subscribe(subject, future=cast("asyncio.Future[Any]", _Ear(told)))

    async def settle(self) -> None:
        """Wait until the server has done all that it was told so far."""
        await self.client.flush(timeout=60)

    def on_end(self, told: Callable[[BaseException], None]) -> None:
        """Have ``told`` called once this has ended, and with each subscription that the server refuses."""
        self._listeners.append(told)

    def off_end(self, told: Callable[[BaseException], None]) -> None:
        """Undo ``on_end``."""
        if told in self._listeners:
            self._listeners.remove(told)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something on this connection that nobody waits for; a failure of it does not matter."""
        task = asyncio.get_running_loop().create_task(_quietly(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Close it. Idempotent; raises nothing."""
        self._end(LinkLost("the connection was closed"))
        try:
            # A handshake that failed leaves the driver waiting for an end that never comes.
            async with asyncio.timeout(CLOSING):
                await self.client.close()
        except Exception as exc:  # noqa: BLE001 - whatever state the driver was in, it is of no use any more
            _log.debug("%s: %s while closing", self._what, exc)

    async def _wait_for(
        self, question: "_Question", payload: bytes, headers: Mapping[str, str] | None, timeout: float, inbox: str = ""
    ) -> list[Msg]:
        if self.lost is None and self.client.is_closed:
            self._end(LinkLost(f"{self._what} closed the connection"))
        if self.lost is not None:
            raise LinkLost(str(self.lost))
        self._next += 1
        token = str(self._next)
        self._asked[token] = question
        # Cheaper than the context of asyncio that does the same, and this runs for every append.
        bell = self._loop.call_later(max(0.0, timeout), question.fail, TimeoutError())
        try:
            await self.client.publish(question.subject, payload, inbox or self._inbox + token, cast("Any", headers))
            return await question.answered
        except nats.errors.Error as exc:
            self._end(exc)
            raise LinkLost(str(exc)) from exc
        finally:
            bell.cancel()
            self._asked.pop(token, None)

    def _heard(self, msg: Msg) -> None:
        question = self._asked.get(msg.subject[len(self._inbox) :])
        if question is not None:
            question.take(msg)

    def _complain(self, exc: Exception) -> None:
        denied = _DENIED.search(str(exc))
        if denied is None:
            self._trouble = exc
            return
        # The driver makes small letters of it.
        subject = denied[2].lower()
        if denied[1] != "publish":
            refused = Denied("subscribe to", subject)
            if subject.startswith(self._inbox.lower()):
                self._end(refused)
            for told in tuple(self._listeners):
                told(refused)
            return
        for question in tuple(self._asked.values()):
            if question.subject.lower() == subject:
                question.fail(Denied("publish to", question.subject))

    def _end(self, why: BaseException) -> None:
        if self.lost is not None:
            return
        self.lost = why
        for question in tuple(self._asked.values()):
            question.fail(why if isinstance(why, Denied) else LinkLost(str(why)))
        for told in tuple(self._listeners):
            told(why)


async def _quietly(work: Coroutine[Any, Any, None]) -> None:
    try:
        await work
    except Exception as exc:  # noqa: BLE001 - as it says
        _log.debug("while nobody waited: %s", exc)


class _Question:
    """What was asked, and what has been answered so far."""

    __slots__ = ("_complete", "_so_far", "answered", "subject")

    def __init__(self, subject: str, complete: Callable[[Msg], bool] | None) -> None:
        self.subject = subject
        self.answered: asyncio.Future[list[Msg]] = asyncio.get_running_loop().create_future()
        self._complete = complete
        self._so_far: list[Msg] = []

    def take(self, msg: Msg) -> None:
        if self.answered.done():
            return
        headers = msg.headers
        if headers is not None and not msg.data and headers.get("Status") == "503":
            self.answered.set_exception(NoResponder(self.subject))
            return
        self._so_far.append(msg)
        try:
            whole = self._complete is None or self._complete(msg)
        except Exception as exc:  # noqa: BLE001 - told to whoever asked
            self.answered.set_exception(exc)
            return
        if whole:
            self.answered.set_result(self._so_far)

    def fail(self, exc: Exception) -> None:
        if not self.answered.done():
            self.answered.set_exception(exc)


class _Ear:
    """Looks like a future to the driver; every result that it is given is a message."""

    __slots__ = ("_told",)

    def __init__(self, told: Callable[[Msg], None]) -> None:
        self._told = told

    def cancelled(self) -> bool:
        return False

    def set_result(self, msg: Msg) -> None:
        try:
            self._told(msg)
        except Exception:  # noqa: BLE001 - whatever it is
            # The driver would stop reading without a word.
            _log.exception("a message from NATS could not be taken")
