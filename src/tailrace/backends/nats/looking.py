"""Looks at single messages and at runs of them. Writes nothing. Lives on the loop's thread.

Where a topic stands is asked of the leader: another replica may answer from behind. What follows a place may come from
any of them, because each message names the one before it, and so a short answer is a prefix and never something else.
"""

import asyncio
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from nats.aio.msg import Msg

from tailrace.backends.nats.consuming import consume
from tailrace.backends.nats.errors import NO_MESSAGE, NO_STREAM, ApiError
from tailrace.backends.nats.ground import Ground
from tailrace.backends.nats.names import DIGEST
from tailrace.backends.nats.session import API, PATIENCE, Session, encoded
from tailrace.backends.nats.stored import Stored, checked, from_answer, from_headers
from tailrace.errors import DurableStreamUnavailableError

MOST_MESSAGES = 1024
"""In one answer."""


class Run(NamedTuple):
    """Messages of one subject, in order.

    Attributes:
        whole: Whether the last one was the newest of the subject, as far as the server that answered knew.
    """

    messages: list[Stored]
    whole: bool


class Looking:
    """For one thread. Raises what ``Session`` raises."""

    def __init__(self, session: Session, ground: Ground) -> None:
        self._session = session
        self._ground = ground

    async def newest(self, topic: str, deadline: float) -> Stored | None:
        """Return the newest message of a topic, as its leader knows it."""
        return await self._one(topic, {"last_by_subj": self._ground.names.subject(topic)}, deadline)

    async def newest_of(self, key: str, deadline: float) -> Stored | None:
        """Return the newest message of the topic with that digest, whose name it tells."""
        names = self._ground.names
        return await self._look(names.stream_of(key), {"last_by_subj": f"{names.store}.t.{key}"}, None, deadline)

    async def next(self, topic: str, sequence: int, deadline: float) -> Stored | None:
        """Return the first message of a topic behind a sequence, as its leader knows it."""
        body = {"seq": sequence + 1, "next_by_subj": self._ground.names.subject(topic)}
        return await self._one(topic, body, deadline)

    async def run(self, topic: str, start: int, count: int, size: int, deadline: float) -> Run:
        """Return the messages of a topic from a sequence on: at most so many, and not many more bytes than ``size``."""
        if not self._ground.batched:
            return await self._run_of_single(topic, start, count, size, deadline)
        body = {
            "seq": max(1, start),
            "next_by_subj": self._ground.names.subject(topic),
            "batch": min(count, MOST_MESSAGES),
            "max_bytes": size,
        }
        answers = await self._direct(self._ground.names.stream(topic), body, deadline, batch=True)
        messages = [from_headers(msg.headers or {}, msg.data, topic) for msg in answers if _is_message(msg)]
        last = answers[-1].headers or {}
        return Run(messages, last.get("Nats-Num-Pending", "0") == "0")

    async def _run_of_single(self, topic: str, start: int, count: int, size: int, deadline: float) -> Run:
        first, newest = await asyncio.gather(self.next(topic, start - 1, deadline), self.newest(topic, deadline))
        if first is None or newest is None:
            return Run([], whole=True)
        messages = [first]
        size -= len(first.frame.data)
        while len(messages) < count and size > 0 and messages[-1].sequence < newest.sequence:
            start = messages[-1].sequence + 1
            if len(messages) == 1:
                # Most readers stand at the tail: the one message that is new for them needs no consumer.
                found = await self.next(topic, start - 1, deadline)
                some = [] if found is None else [found]
            else:
                some = await self._consumed(topic, start, min(count - len(messages), MOST_MESSAGES), size, deadline)
            messages += some
            size -= sum(len(each.frame.data) for each in some)
            if not some:
                return Run(messages, whole=False)
        return Run(messages, whole=messages[-1].sequence >= newest.sequence)

    async def _consumed(self, topic: str, start: int, count: int, size: int, deadline: float) -> list[Stored]:
        names = self._ground.names
        stream, subject = names.stream(topic), names.subject(topic)
        found = await self._session.persist(
            lambda: consume(self._session, stream, subject, start, count, size), deadline
        )
        return [checked(each, topic) for each in found]

    async def _one(self, topic: str, body: Mapping[str, Any], deadline: float) -> Stored | None:
        return await self._look(self._ground.names.stream(topic), body, topic, deadline)

    async def _look(self, stream: str, body: Mapping[str, Any], topic: str | None, deadline: float) -> Stored | None:
        names = self._ground.names
        if names.shared and self._ground.replicas == 1:
            # The only one that has it is the leader, and this way needs no text made of the bytes.
            (msg,) = await self._direct(stream, body, deadline, batch=False)
            return from_headers(msg.headers or {}, msg.data, topic) if _is_message(msg) else None
        try:
            answer = await self._session.insist(f"STREAM.MSG.GET.{stream}", body, deadline)
        except ApiError as exc:
            # Without a stream of its own, a topic is not there yet; without the common one, the store is gone.
            if exc.code == NO_MESSAGE or (exc.code == NO_STREAM and not names.shared):
                return None
            raise
        return from_answer(answer["message"], topic)

    async def _direct(self, stream: str, body: Mapping[str, Any], deadline: float, *, batch: bool) -> list[Msg]:
        subject = f"{API}DIRECT.GET.{stream}"
        payload = encoded(body)

        async def fetch() -> list[Msg]:
            link = await self._session.link()
            return await link.fetch(subject, payload, _is_last if batch else _is_any, PATIENCE)

        answers: list[Msg] = await self._session.persist(fetch, deadline)
        status = (answers[-1].headers or {}).get("Status", "")
        if status not in ("", "204", "404"):
            said = (answers[-1].headers or {}).get("Description", "")
            raise DurableStreamUnavailableError(
                f"{self._session.name} could not be asked for messages [{status} {said}]"
            )
        return answers

    async def keys(self, deadline: float) -> list[str]:
        """Return the digests of all topics that have a message, in order."""
        names = self._ground.names
        keys: list[str] = []
        while True:
            if names.shared:
                body: dict[str, Any] = {"subjects_filter": names.topics, "offset": len(keys)}
                answer = await self._session.insist(f"STREAM.INFO.{names.store}", body, deadline)
                found = list((answer["state"].get("subjects") or {}).keys())
            else:
                body = {"subject": names.topics, "offset": len(keys)}
                answer = await self._session.insist("STREAM.NAMES", body, deadline)
                found = list(answer.get("streams") or ())
            keys += (each[-DIGEST:] for each in found)
            if not found or len(keys) >= int(answer.get("total", 0)):
                return sorted(keys)


def left(deadline: float) -> float:
    """Return the seconds to a deadline."""
    return deadline - time.monotonic()


def _is_message(msg: Msg) -> bool:
    # Ours are never empty, and the end of a batch always is.
    return bool(msg.data)


def _is_last(msg: Msg) -> bool:
    return not msg.data or (msg.headers or {}).get("Nats-Num-Pending", "0") == "0"


def _is_any(msg: Msg) -> bool:
    return True
