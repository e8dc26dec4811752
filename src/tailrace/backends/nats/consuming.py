"""A run of messages on servers that answer one question with one message: read through a consumer that soon is gone.

It is made for one run, in memory, acknowledges nothing, and is removed at once; should that fail, the server does it
after some seconds. Lives on the loop's thread.
"""

from typing import Any

from nats.aio.msg import Msg

from tailrace.backends.nats.errors import ApiError, Denied, LinkLost, NoResponder
from tailrace.backends.nats.frames import decode
from tailrace.backends.nats.session import API, PATIENCE, Session, encoded
from tailrace.backends.nats.stored import Stored

LIVES = 5_000_000_000
"""Nanoseconds after which the server removes a consumer that nobody asks anything."""


async def consume(session: Session, stream: str, subject: str, start: int, count: int, size: int) -> list[Stored]:
    """Return the messages of a subject from a sequence on, at most so many.

    Raises what ``Session`` raises.
    """
    wanted = {
        "deliver_policy": "by_start_sequence",
        "opt_start_seq": max(1, start),
        "ack_policy": "none",
        "filter_subject": subject,
        "inactive_threshold": LIVES,
        "mem_storage": True,
        "num_replicas": 1,
    }
    made = await session.ask(f"CONSUMER.CREATE.{stream}", {"stream_name": stream, "config": wanted})
    name = made["name"]
    link = await session.link()
    try:
        asked: dict[str, Any] = {"batch": count, "no_wait": True, "max_bytes": size}
        subject = f"{API}CONSUMER.MSG.NEXT.{stream}.{name}"
        answers = await link.stream(subject, encoded(asked), _Last(count), PATIENCE)
    finally:
        link.spawn(_remove(session, f"CONSUMER.DELETE.{stream}.{name}"))
    return [_stored(msg) for msg in answers if msg.reply]


class _Last:
    """Knows the last of so many answers."""

    def __init__(self, count: int) -> None:
        self._left = count

    def __call__(self, msg: Msg) -> bool:
        self._left -= 1
        return not msg.reply or not self._left or _pending(msg) == 0


async def _remove(session: Session, subject: str) -> None:
    try:
        await session.ask(subject)
    except (ApiError, NoResponder, LinkLost, Denied, TimeoutError):
        return


def _stored(msg: Msg) -> Stored:
    # $JS.ACK.stream.consumer.delivered.sequence.number.nanoseconds.pending; a domain and an account may come before.
    parts = msg.reply.split(".")
    return Stored(int(parts[-4]), int(parts[-2]) // 1000, decode(msg.data))


def _pending(msg: Msg) -> int:
    return int(msg.reply.rpartition(".")[2]) if msg.reply else -1
