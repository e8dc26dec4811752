"""One message onto one subject, if nothing came before it: the write on which everything is built.

A publish names the message that it follows, and the server refuses it if that is no longer the newest. So an answer
that was lost can be found out: what follows that message is ours, or ours can never be stored any more. While nothing
follows it, a message without records is put there under the same comparison; whichever of the two wins, it is known.
"""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from tailrace.backends.nats.errors import NO_STREAM, WRONG_SEQUENCE, ApiError, Denied, LinkLost, NoResponder, explain
from tailrace.backends.nats.frames import Frame, Kind, State, compose
from tailrace.backends.nats.ground import Ground
from tailrace.backends.nats.heads import Heads
from tailrace.backends.nats.looking import Looking, left
from tailrace.backends.nats.session import LONGEST_PAUSE, PAUSE, Session, answer_of
from tailrace.backends.nats.stored import Head, Stored
from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError
from tailrace.spi.identities import random_tag

EXPECTED = "Nats-Expected-Last-Subject-Sequence"

NATS_HEADERS = 256
"""Bytes that the headers of NATS may take."""

PATIENCE = 0.4
"""The part of the time left that an answer is waited for, before it is found out what became of the message."""


class Draft(NamedTuple):
    """A message to be.

    Attributes:
        state: Of the topic, before its records.
    """

    kind: Kind
    state: State
    payloads: tuple[bytes, ...] = ()


Plan = Callable[[Head], Draft | None]
"""Says what to write where a topic stands like this; ``None``: nothing. May raise ours."""


@dataclass(slots=True)
class Unknown(Exception):  # noqa: N818 - an outcome
    """Nobody knows whether it was stored."""

    error: DurableStreamUnavailableError


class _NotStored(Exception):  # noqa: N818 - look again
    """It was certainly not stored. Another message may have been."""


class Committing:
    """For one thread."""

    def __init__(self, session: Session, ground: Ground, looking: Looking, heads: Heads) -> None:
        self._session = session
        self._ground = ground
        self._looking = looking
        self._heads = heads

    async def commit(self, topic: str, plan: Plan, deadline: float, *, fresh: bool = False) -> Head:
        """Write what ``plan`` makes of where the topic stands, whatever other processes write meanwhile.

        Args:
            fresh: Look first, even if this process was the last to write.

        Returns:
            Where the topic stands afterwards.

        Raises:
            Unknown: Nobody knows whether it was stored.
            DurableStreamUnavailableError: It was certainly not stored.
        """
        pause = 0.0
        error: DurableStreamUnavailableError | None = None
        while left(deadline) > 0:
            try:
                head = await (self._heads.look if fresh else self._heads.get)(topic, deadline)
            except (ApiError, NoResponder, LinkLost, Denied, TimeoutError) as exc:
                raise explain(exc, self._session.name) from exc
            draft = plan(head)
            if draft is None:
                return head
            try:
                after = await self._write(topic, head, draft, deadline)
            except _NotStored as exc:
                self._heads.drop(topic)
                if exc.__cause__ is not None:
                    error = explain(exc.__cause__, self._session.name)
                if error is not None and (isinstance(error, StoreUnusableError) or pause > left(deadline)):
                    raise error from exc
                if exc.__cause__ is not None:
                    pause = min(LONGEST_PAUSE, pause * 2 or PAUSE)
                    await asyncio.sleep(pause * random.uniform(0.5, 1.0))
                continue
            self._heads.keep(topic, after)
            return after
        raise error or DurableStreamUnavailableError("other processes wrote to this topic first, again and again")

    async def _write(self, topic: str, head: Head, draft: Draft, deadline: float) -> Head:
        frame = compose(draft.kind, head.sequence, random_tag(), topic, draft.state, draft.payloads)
        try:
            sequence = await self._publish(topic, frame, left(deadline) * PATIENCE)
        except ApiError as exc:
            if exc.code in WRONG_SEQUENCE:
                raise _NotStored from None
            raise _NotStored from exc
        except (DurableStreamUnavailableError, Denied) as exc:
            raise _NotStored from exc
        except NoResponder as exc:
            await self._ask_for_stream(topic, deadline)
            raise _NotStored from exc
        except (LinkLost, TimeoutError) as exc:
            sequence = await self._find_out(topic, head, frame, deadline, exc)
        return _after(sequence, frame, self._session.now)

    async def _publish(self, topic: str, frame: Frame, timeout: float) -> int:
        link = await self._session.link()
        subject, size, most = self._ground.names.subject(topic), len(frame.data), link.client.max_payload
        if size + NATS_HEADERS > most:
            raise StoreUnusableError(f"a message of {size} bytes is over the server's max_payload of {most}: raise it")
        answer = answer_of(await link.ask(subject, frame.data, {EXPECTED: str(frame.previous)}, timeout))
        return int(answer["seq"])

    async def _ask_for_stream(self, topic: str, deadline: float) -> None:
        # Nobody listens on this subject: the stream is gone, or has no leader right now, or is yet to be made.
        names = self._ground.names
        try:
            async with asyncio.timeout(max(0.01, left(deadline))):
                await self._session.ask(f"STREAM.INFO.{names.stream(topic)}")
        except ApiError as exc:
            if exc.code == NO_STREAM and not names.shared:
                await self._make_stream(topic, deadline)
            elif exc.code == NO_STREAM:
                raise _NotStored from exc
        except (NoResponder, LinkLost, TimeoutError, DurableStreamUnavailableError):
            return

    async def _make_stream(self, topic: str, deadline: float) -> None:
        try:
            await self._ground.make_stream(topic, deadline)
        except (ApiError, Denied) as exc:
            raise _NotStored from exc
        except (NoResponder, LinkLost, TimeoutError, DurableStreamUnavailableError):
            return

    async def _find_out(self, topic: str, head: Head, frame: Frame, deadline: float, why: BaseException) -> int:
        """Return under which number a message was stored whose answer did not come."""
        fence = compose(Kind.CONTROL, head.sequence, random_tag(), topic, frame.state)
        while left(deadline) > 0:
            try:
                found = await self._looking.next(topic, head.sequence, deadline)
                if found is None and frame.kind is not Kind.END:
                    await self._publish(topic, fence, left(deadline))
                    raise _NotStored
                if found is not None:
                    return _judge(found, head, frame, fence, self._session.name)
            except ApiError as exc:
                if exc.code not in WRONG_SEQUENCE:
                    break
            except (LinkLost, NoResponder, TimeoutError, StoreUnusableError, Denied):
                break
            except DurableStreamUnavailableError:
                await asyncio.sleep(PAUSE)
        error = explain(why, self._session.name)
        error.maybe_stored = True
        raise Unknown(error)


def _judge(found: Stored, head: Head, frame: Frame, fence: Frame, what: str) -> int:
    same_life = found.frame.state.incarnation == frame.state.incarnation
    if same_life and found.frame.tag == frame.tag:
        return found.sequence
    if found.frame.previous == head.sequence or (same_life and found.frame.tag == fence.tag):
        # Another message has our place.
        raise _NotStored
    raise Unknown(
        DurableStreamUnavailableError(f"{what}: what followed was removed before it was known", maybe_stored=True)
    )


def _after(sequence: int, frame: Frame, now: int) -> Head:
    if frame.kind is Kind.END:
        return Head(sequence, None, frame.state.incarnation)
    state = frame.after(sequence, now)
    return Head(sequence, state, state.grave)
