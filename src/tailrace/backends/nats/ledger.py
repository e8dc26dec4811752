"""The bucket: what is known about each topic, once more, for the day on which its messages are gone.

No fast path reads or writes it. An entry is written with the birth of a topic, its seal, each new horizon and its end,
and nothing in it expires. The newest message of a subject always beats it.
"""

import base64
import json
import logging
from dataclasses import asdict, dataclass, replace
from typing import Any

from tailrace.backends.nats.errors import NO_MESSAGE, WRONG_SEQUENCE, ApiError, Denied, LinkLost, NoResponder
from tailrace.backends.nats.frames import State
from tailrace.backends.nats.ground import Ground
from tailrace.backends.nats.session import PATIENCE, Session, answer_of
from tailrace.errors import DurableStreamUnavailableError
from tailrace.spi import Seal

TRIES = 8

_log = logging.getLogger("tailrace.store")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What the bucket says about a topic.

    Attributes:
        ended: Whether that life was deleted.
        at: The newest message of the topic when this was written.
        stream: When the topic's stream was made: an entry about another one is about a life that went with it.
        sequence: Of the entry in the bucket.
    """

    name: str
    incarnation: int
    last: tuple[int, int] = (0, 0)
    horizon: tuple[int, int] = (0, 0)
    sealed: bool = False
    error: str | None = None
    ended: bool = False
    at: int = 0
    stream: str = ""
    sequence: int = 0

    @property
    def seal(self) -> Seal | None:
        """The topic's seal."""
        return Seal(self.error) if self.sealed else None


class Ledger:
    """For one thread. Raises what ``Session`` raises."""

    def __init__(self, session: Session, ground: Ground) -> None:
        self._session = session
        self._ground = ground

    async def find(self, topic: str, deadline: float) -> Entry | None:
        """Return a topic's entry."""
        names = self._ground.names
        body = {"last_by_subj": names.key(topic)}
        try:
            answer = await self._session.insist(f"STREAM.MSG.GET.{names.bucket}", body, deadline)
        except ApiError as exc:
            if exc.code == NO_MESSAGE:
                return None
            raise
        message = answer["message"]
        data = base64.b64decode(message.get("data") or "")
        if not data:
            # A marker of NATS's own tools.
            return None
        return _entry(json.loads(data), message["seq"])

    async def add(self, topic: str, state: State, at: int, deadline: float, *, ended: bool = False) -> None:
        """Note what has been written already; that it can not be noted is told to the log, and to nobody else."""
        try:
            await self.note(topic, state, at, deadline, ended=ended)
        except (DurableStreamUnavailableError, ApiError, NoResponder, LinkLost, Denied, TimeoutError) as exc:
            # The newest message of the topic says all of it. This was the second copy.
            _log.warning("what was written to a topic could not be noted in the bucket: %s", exc)

    async def note(self, topic: str, state: State, at: int, deadline: float, *, ended: bool = False) -> None:
        """Write what is known about a life, as of the message ``at``; what is written about a later one stands."""
        wanted = Entry(
            name=topic,
            incarnation=state.incarnation,
            last=state.last,
            horizon=state.horizon,
            sealed=state.seal is not None,
            error=None if state.seal is None else state.seal.error,
            ended=ended,
            at=at,
            stream=self._ground.created,
        )
        for _ in range(TRIES):
            there = await self.find(topic, deadline)
            if there is not None and there.incarnation == wanted.incarnation:
                wanted = _merged(there, wanted)
            elif there is not None and there.stream == wanted.stream and there.at > wanted.at:
                return
            if await self._put(topic, wanted, 0 if there is None else there.sequence, deadline):
                return
        raise DurableStreamUnavailableError("the topic's entry in the bucket changed again and again")

    async def forget(self, topic: str, entry: Entry, deadline: float) -> None:
        """Remove an entry, unless it has changed."""
        names = self._ground.names
        body = {"filter": names.key(topic), "seq": entry.sequence + 1}
        await self._session.insist(f"STREAM.PURGE.{names.bucket}", body, deadline)

    async def _put(self, topic: str, entry: Entry, after: int, deadline: float) -> bool:
        fields = asdict(entry)
        del fields["sequence"]
        payload = json.dumps(fields).encode()
        headers = {"Nats-Expected-Last-Subject-Sequence": str(after)}

        async def put() -> dict[str, Any]:
            link = await self._session.link()
            return answer_of(await link.ask(self._ground.names.key(topic), payload, headers, PATIENCE))

        try:
            await self._session.persist(put, deadline)
        except ApiError as exc:
            # Also if this was the second try of one whose answer was lost: then the next look finds it.
            if exc.code not in WRONG_SEQUENCE:
                raise
            return False
        return True


def _merged(there: Entry, wanted: Entry) -> Entry:
    """Return what both say of one life: nothing is ever taken back."""
    sealed = there if there.sealed else wanted
    return replace(
        wanted,
        last=max(there.last, wanted.last),
        horizon=max(there.horizon, wanted.horizon),
        sealed=sealed.sealed,
        error=sealed.error,
        ended=there.ended or wanted.ended,
        at=max(there.at, wanted.at),
    )


def _entry(fields: dict[str, Any], sequence: int) -> Entry:
    fields["last"], fields["horizon"] = tuple(fields["last"]), tuple(fields["horizon"])
    known = Entry.__dataclass_fields__.keys()
    return Entry(**{name: value for name, value in fields.items() if name in known}, sequence=sequence)
