"""Appends of other processes, in one queue with each other and with the server's own: they share commits."""

import asyncio
from collections.abc import Callable, Sequence

from tailrace import spi, wire
from tailrace.aio.waker import waker_of
from tailrace.engine import Submission
from tailrace.errors import PayloadTooLargeError, StoreUnusableError
from tailrace.server.call import Call
from tailrace.server.desk import MOST_TOPICS
from tailrace.server.principals import Action
from tailrace.server.problems import Problem
from tailrace.server.response import Response
from tailrace.server.store.bodies import answer, asked


async def append(call: Call) -> Response:
    """Append many entries of many topics; answer with one outcome for each."""
    entries, timeout = await asked(call, wire.unpack_append)
    if len(entries) > MOST_TOPICS:
        raise Problem("too-large", f"a request may have {MOST_TOPICS} entries; nothing was stored")
    return answer(wire.outcomes_to(await _appended(call, entries, timeout)))


async def _appended(call: Call, entries: Sequence[spi.Entry], timeout: float) -> Sequence[spi.AppendOutcome]:
    loop = asyncio.get_running_loop()
    engine, waker = call.service.engine, waker_of(loop)
    under_way: list[Submission | spi.AppendRefused] = []
    settled: list[asyncio.Future[None]] = []

    def expire() -> None:
        for one in under_way:
            if isinstance(one, Submission):
                one.expire()

    # The client waits no longer; what still queues then is withdrawn, and told as not stored.
    timer = loop.call_later(min(timeout, engine.options.append_timeout), expire)
    try:
        for entry in entries:
            refused = _refusal(call, entry)
            if refused is not None:
                under_way.append(refused)
                continue
            future: asyncio.Future[None] = loop.create_future()
            # A topic that a transaction holds keeps only those waiting whose client is ready to: it has a queue
            # of its own for them there.
            woken = _waking(waker.wake, future)
            under_way.append(
                engine.writing.submit(entry.topic, entry.payloads, woken, within=timeout, goes_aside=entry.may_wait)
            )
            settled.append(future)
        for future in settled:
            await future
    finally:
        timer.cancel()
        expire()
    return [one.outcome() if isinstance(one, Submission) else one for one in under_way]


def _waking(wake: Callable[[asyncio.Future[None]], None], future: asyncio.Future[None]) -> Callable[[], None]:
    return lambda: wake(future)


def _refusal(call: Call, entry: spi.Entry) -> spi.AppendRefused | None:
    """Return why an entry is not to be stored, without a word about its neighbours."""
    if not call.principal.may(Action.APPEND, entry.topic):
        return spi.AppendRefused(StoreUnusableError("this credential does not allow append on that topic"))
    most = call.service.max_payload
    for payload in entry.payloads:
        if len(payload) > most:
            error = PayloadTooLargeError(len(payload), most, named="the server's")
            return spi.AppendRefused(StoreUnusableError(str(error)))
    return None
