"""A message as the server has it, and what the newest one says about its topic. Pure."""

import base64
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from tailrace.backends.nats.frames import Frame, Kind, State, decode
from tailrace.errors import StoreUnusableError


class Stored(NamedTuple):
    """A message of ours on the server.

    Attributes:
        time: When it was stored, in microseconds since the epoch by the server's clock; 0 if it was not told.
    """

    sequence: int
    time: int
    frame: Frame

    @property
    def state(self) -> State:
        """Of the topic, after this message."""
        return self.frame.after(self.sequence, self.time)

    @property
    def ended(self) -> bool:
        """Whether this message ends its life."""
        return self.frame.kind is Kind.END


class Head(NamedTuple):
    """Where a topic stands.

    Attributes:
        sequence: Of the newest message on its subject, 0 for none.
        state: Of its life; ``None`` while it has none.
        grave: Of the last life that was deleted, 0 for none.
    """

    sequence: int = 0
    state: State | None = None
    grave: int = 0


NOTHING = Head()


def head_of(stored: Stored) -> Head:
    """Return what the newest message of a subject says."""
    if stored.ended:
        return Head(stored.sequence, None, stored.frame.state.incarnation)
    state = stored.state
    return Head(stored.sequence, state, state.grave)


def from_headers(headers: Mapping[str, str], data: bytes, topic: str | None) -> Stored:
    """Read a message that came by direct get, or was repeated as a hint.

    Args:
        topic: Whose it has to be, if that is known.

    Raises:
        StoreUnusableError: It is none of ours, or of another topic.
    """
    stamp = headers.get("Nats-Time-Stamp")
    return checked(Stored(int(headers["Nats-Sequence"]), microseconds(stamp) if stamp else 0, decode(data)), topic)


def from_answer(message: Mapping[str, Any], topic: str | None) -> Stored:
    """Read a message as the leader's answer holds it.

    Raises:
        StoreUnusableError: It is none of ours, or of another topic.
    """
    data = base64.b64decode(message.get("data") or "")
    return checked(Stored(message["seq"], microseconds(message["time"]), decode(data)), topic)


def microseconds(stamp: str) -> int:
    """Return the microseconds since the epoch of a server's timestamp."""
    seconds = int(datetime.fromisoformat(f"{stamp[:19]}+00:00").timestamp())
    return seconds * 1_000_000 + int(stamp[20:].rstrip("Z")[:6].ljust(6, "0"))


def checked(stored: Stored, topic: str | None) -> Stored:
    """Return a message if it is of that topic.

    Raises:
        StoreUnusableError: It is of another one.
    """
    if topic is not None and stored.frame.name != topic:
        raise StoreUnusableError("two topics of this store have the same subject: give one of them another name")
    return stored
